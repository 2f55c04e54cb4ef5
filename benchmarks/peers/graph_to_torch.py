"""Writes a hipDNN graph as the Python function that a user of PyTorch would write for it.

The function is source text: it can be read (it is in the JSON of results), torch.compile sees
nothing but plain calls, and tests need no PyTorch. README.md says which liberties are taken.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hipdnn_graph import FLOAT_BITS, Graph, Node, NotTranslated, Tensor
from idioms import Idiom, find_idioms
from torch_operators import REDUCTIONS, pointwise_expression

TORCH_TYPES = {
    "HALF": "torch.float16",
    "BFLOAT16": "torch.bfloat16",
    "FLOAT": "torch.float32",
    "DOUBLE": "torch.float64",
}

# Epsilon of batch norms that are given an inverse standard deviation: F.batch_norm wants a variance
# and adds an epsilon itself.
GIVEN_EPSILON = 1e-5

# Inputs in these places must be positive for results to be numbers.
POSITIVE_OPERANDS = {"inv_variance", "scale"}
POSITIVE_MODES = {"DIV": "in_1"} | dict.fromkeys(("LOG", "RECIPROCAL", "RSQRT", "SQRT"), "in_0")


@dataclass(frozen=True)
class Argument:
    """One parameter of the function: an input of the graph, as a PyTorch module would hold it."""

    name: str
    uid: int
    prepare: str  # expression around "{}", evaluated before anything is timed


@dataclass(frozen=True)
class Translation:
    function: str  # its name in the source
    source: str
    arguments: tuple[Argument, ...]
    outputs: tuple[int, ...]  # uids of what it returns, in that order
    kept_inside: tuple[str, ...]  # outputs that the operator computes and does not return
    idioms: tuple[str, ...]  # groups of nodes that became one operator
    positive: frozenset[int]  # inputs that must be positive


@dataclass(frozen=True)
class Value:
    text: str  # a name, or a number
    dtype: str  # of the tensor in PyTorch; "" for numbers


def _identifier(text: str) -> str:
    """Names in graphs are any text; not all that \\w takes may stand in Python's names."""
    return re.sub(r"\W", "_", text, flags=re.ASCII)


def _is_primary(expression: str) -> bool:
    """Whether a method that is called on it takes all of it: a name or one call."""
    return isinstance(ast.parse(expression, mode="eval").body, (ast.Call, ast.Name))


def _promote(values: list[Value]) -> str:
    """The type that PyTorch computes in and returns."""
    types = {value.dtype for value in values if value.dtype not in ("", "BOOL")}
    if types == {"HALF", "BFLOAT16"}:
        return "FLOAT"
    return max(types, key=lambda dtype: FLOAT_BITS[dtype], default="FLOAT")


@dataclass
class _Writer:
    graph: Graph
    exact: bool
    values: dict[int, Value] = field(default_factory=dict)
    arguments: dict[str, Argument] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    kept_inside: list[int] = field(default_factory=list)

    # ---- names ----

    def _name(self, uid: int) -> str:
        return _identifier(f"t{uid}_{self.graph.tensors[uid].name}").rstrip("_")

    def _cast(self, dtype: str) -> str:
        return "" if self.exact else f".to({TORCH_TYPES[dtype]})"

    # ---- operands ----

    def _input(self, uid: int, prepare: str, suffix: str, dtype: str) -> Value:
        """An argument for each way in which nodes want the input prepared."""
        name, ways = self._name(uid) + suffix, 1
        while name in self.arguments and self.arguments[name].prepare != prepare:
            ways += 1
            name = f"{self._name(uid)}{suffix}_{ways}"
        self.arguments[name] = Argument(name, uid, prepare)
        return Value(name, dtype)

    def value(self, uid: int) -> Value:
        tensor = self.graph.tensors[uid]
        if uid in self.values:
            return self.values[uid]
        if tensor.constant is not None:
            return Value(f"({tensor.constant!r})", "")
        return self._input(uid, "{}", "", tensor.dtype)

    def operand(self, node: Node, name: str) -> Value:
        uid = node.uid(name)
        if uid is None:
            raise NotTranslated(f"{node.kind}Attributes without {name}")
        return self.value(uid)

    def parameter(self, node: Node, name: str, shape: str, dtype: str | None = None,
                  then: str = "") -> str:
        """A small operand of a norm: shaped, converted and, for inputs of the graph, prepared
        before anything is timed."""
        uid = node.uid(name)
        if uid is None:
            return "None"
        if self.graph.tensors[uid].constant is not None:
            raise NotTranslated(f"{node.kind}Attributes whose {name} is a constant")
        own = self.graph.tensors[uid].dtype
        cast = self._cast(dtype) if dtype and dtype != own else ""
        expression = f"{{}}.reshape({shape}){cast}{then}"
        if uid in self.graph.producers:
            return expression.format(self.values[uid].text)
        return self._input(uid, expression, "_as_variance" if then else "_parameter",
                           dtype or own).text

    def number(self, node: Node, name: str) -> float:
        uid = node.uid(name)
        constant = None if uid is None else self.graph.tensors[uid].constant
        if constant is None:
            raise NotTranslated(f"{node.kind}Attributes whose {name} is no constant")
        return constant

    # ---- results ----

    def _conversion(self, tensor: Tensor, dtype: str) -> str:
        """What turns a result of the type into the tensor's; virtual tensors may stay narrower than
        declared: PyTorch's operators compute in float inside."""
        is_narrow = dtype == "BOOL" or FLOAT_BITS[dtype] < FLOAT_BITS[tensor.dtype]
        if dtype == tensor.dtype or (tensor.is_virtual and is_narrow):
            return ""
        # Booleans become numbers in the exact translation too.
        return ".to(torch.float64)" if self.exact and dtype == "BOOL" else self._cast(tensor.dtype)

    def assign(self, node: Node, result: str, expression: str, dtype: str) -> None:
        uid = node.uid(result)
        assert uid is not None
        tensor = self.graph.tensors[uid]
        conversion = self._conversion(tensor, dtype)
        if conversion:
            whole = expression if _is_primary(expression) else f"({expression})"
            expression = whole + conversion
            dtype = tensor.dtype
        elif expression.isidentifier() and not tensor.is_virtual:
            expression += ".clone()"
        self.lines.append(f"{self._name(uid)} = {expression}")
        self.values[uid] = Value(self._name(uid), dtype)

    def assign_several(self, node: Node, results: tuple[str, ...], expression: str,
                       dtypes: tuple[str, ...]) -> None:
        """Results of one operator, in the types in which it gives them."""
        uids = [node.uid(result) for result in results]
        names = ["_" if uid is None else self._name(uid) for uid in uids]
        self.lines.append(f"{', '.join(names)} = {expression}")
        for uid, name, dtype in zip(uids, names, dtypes):
            if uid is not None:
                self.values[uid] = Value(name, dtype)
        first = uids[0]
        assert first is not None
        conversion = self._conversion(self.graph.tensors[first], dtypes[0])
        if conversion:
            self.lines.append(f"{names[0]} = {names[0]}{conversion}")
            self.values[first] = Value(names[0], self.graph.tensors[first].dtype)

    # ---- nodes ----

    def pointwise(self, node: Node) -> None:
        names = [name for name in ("in_0", "in_1", "in_2") if node.uid(name) is not None]
        values = [self.operand(node, name) for name in names]
        is_second_number = len(values) > 1 and not values[1].dtype
        expression = pointwise_expression(node, [value.text for value in values], is_second_number)
        is_bool = node.mode.startswith(("CMP_", "LOGICAL_"))
        self.assign(node, "out_0", expression, "BOOL" if is_bool else _promote(values[:2]))

    def reduction(self, node: Node) -> None:
        x = self.operand(node, "in")
        axes = self.graph.reduced_axes(node)
        if node.mode not in REDUCTIONS:
            raise NotTranslated(f"ReductionAttributes, {node.mode}")
        expression = REDUCTIONS[node.mode].format(x=x.text, axes=axes) if axes else x.text
        self.assign(node, "out", expression, x.dtype)

    def layernorm(self, node: Node) -> None:
        x = self.operand(node, "x")
        shape = self._normalized(node, node.attributes.get("normalized_dim_count", 0))
        weight = self.parameter(node, "scale", shape, x.dtype)
        bias = self.parameter(node, "bias", shape, x.dtype)
        arguments = f"({x.text}, {shape}, {weight}, {bias}, {self.number(node, 'epsilon')!r})"
        if node.uid("mean") is None and node.uid("inv_variance") is None:
            self.assign(node, "y", "F.layer_norm" + arguments, x.dtype)
        else:
            self.assign_several(node, ("y", "mean", "inv_variance"),
                                "torch.native_layer_norm" + arguments, (x.dtype, "FLOAT", "FLOAT"))

    def rmsnorm(self, node: Node) -> None:
        if node.uid("inv_rms") is not None:
            raise NotTranslated("RMSNormAttributes with inv_rms")
        x = self.operand(node, "x")
        shape = self._normalized(node, self._rmsnorm_axes(node))
        weight = self.parameter(node, "scale", shape, x.dtype)
        expression = f"F.rms_norm({x.text}, {shape}, {weight}, {self.number(node, 'epsilon')!r})"
        if node.uid("bias") is not None:
            expression += f" + {self.parameter(node, 'bias', shape, x.dtype)}"
        self.assign(node, "y", expression, x.dtype)

    def layernorm_backward(self, node: Node) -> None:
        dy, x = self.operand(node, "dy"), self.operand(node, "x")
        shape = self._normalized(node, node.attributes.get("normalized_dim_count", 0))
        weight = self.parameter(node, "scale", shape, x.dtype)
        mean, rstd = self.operand(node, "mean"), self.operand(node, "inv_variance")
        call = (f"torch.ops.aten.native_layer_norm_backward({dy.text}, {x.text}, {shape}, "
                f"{mean.text}, {rstd.text}, {weight}, {weight}, [True, True, True])")
        self.assign_several(node, ("dx", "dscale", "dbias"), call, (x.dtype,) * 3)

    def batchnorm(self, node: Node) -> None:
        if node.uid("prev_running_mean") is not None:
            raise NotTranslated("BatchnormAttributes with running statistics")
        x = self.operand(node, "x")
        weight, bias = self.parameter(node, "scale", "-1"), self.parameter(node, "bias", "-1")
        self.assign(node, "y", f"F.batch_norm({x.text}, None, None, {weight}, {bias}, "
                    f"training=True, eps={self.number(node, 'epsilon')!r})", x.dtype)
        for uid in (node.uid("mean"), node.uid("inv_variance")):
            if uid is not None and self.graph.uses[uid]:
                raise NotTranslated("BatchnormAttributes whose statistics are used in the graph")
            if uid is not None:
                self.kept_inside.append(uid)

    def batchnorm_inference(self, node: Node) -> None:
        x = self.operand(node, "x")
        variance = self.parameter(node, "inv_variance", "-1", then=f".pow(-2).sub({GIVEN_EPSILON})")
        mean, weight, bias = (self.parameter(node, n, "-1") for n in ("mean", "scale", "bias"))
        self.assign(node, "y", f"F.batch_norm({x.text}, {mean}, {variance}, {weight}, {bias}, "
                    f"training=False, eps={GIVEN_EPSILON})", x.dtype)

    def batchnorm_backward(self, node: Node) -> None:
        dy, x = self.operand(node, "dy"), self.operand(node, "x")
        if node.uid("mean") is None or node.uid("inv_variance") is None:
            raise NotTranslated("BatchnormBackwardAttributes without statistics")
        weight, mean, rstd = (self.parameter(node, name, "-1")
                              for name in ("scale", "mean", "inv_variance"))
        call = (f"torch.ops.aten.native_batch_norm_backward({dy.text}, {x.text}, {weight}, None, "
                f"None, {mean}, {rstd}, True, {GIVEN_EPSILON}, [True, True, True])")
        self.assign_several(node, ("dx", "dscale", "dbias"), call, (x.dtype, "FLOAT", "FLOAT"))

    def idiom(self, idiom: Idiom) -> None:
        operands = [self.value(uid) for uid in idiom.operands]
        expression = idiom.template.format(*(operand.text for operand in operands))
        self.assign(idiom.last, "out_0", expression, operands[0].dtype)

    def _normalized(self, node: Node, count: int) -> str:
        dims = self.graph.tensors[node.attributes["x_tensor_uid"]].dims
        if not 0 < count <= len(dims):
            raise NotTranslated(f"{node.kind}Attributes over {count} axes")
        return repr(dims[len(dims) - count :])

    def _rmsnorm_axes(self, node: Node) -> int:
        x = self.graph.tensors[node.attributes["x_tensor_uid"]].dims
        scale = self.graph.tensors[node.attributes["scale_tensor_uid"]].dims
        count = 0
        while count < len(x) and x[-1 - count] == scale[-1 - count]:
            count += 1
        return len(x) - 1 if count == len(x) else count


_NODES: dict[str, Callable[[_Writer, Node], None]] = {
    "Pointwise": _Writer.pointwise,
    "Reduction": _Writer.reduction,
    "Layernorm": _Writer.layernorm,
    "LayernormBackward": _Writer.layernorm_backward,
    "RMSNorm": _Writer.rmsnorm,
    "Batchnorm": _Writer.batchnorm,
    "BatchnormInference": _Writer.batchnorm_inference,
    "BatchnormBackward": _Writer.batchnorm_backward,
}


def _positive_inputs(graph: Graph) -> frozenset[int]:
    uids = set()
    for node in graph.nodes:
        names = {POSITIVE_MODES.get(node.mode)} if node.kind == "Pointwise" else POSITIVE_OPERANDS
        uids |= {uid for name in names if name and (uid := node.uid(name)) is not None}
    return frozenset(uids & {tensor.uid for tensor in graph.inputs})


def translate(graph: Graph, exact: bool = False) -> Translation:
    """With `exact`, values are never rounded to float types: for evaluation in double precision.
    NotTranslated when a part of the graph has no translation."""
    idioms = find_idioms(graph)
    absorbed = {id(node) for idiom in idioms for node in idiom.nodes}
    writer = _Writer(graph, exact)
    for node in graph.nodes:
        ending = next((idiom for idiom in idioms if idiom.last is node), None)
        if ending:
            writer.idiom(ending)
        elif id(node) not in absorbed:
            _NODES[node.kind](writer, node)
    outputs = [t.uid for t in graph.outputs if t.uid not in writer.kept_inside]
    function = _identifier(f"graph_{graph.name}")
    lines = [f"def {function}({', '.join(writer.arguments)}):", *writer.lines,
             f"return ({', '.join(writer.values[uid].text for uid in outputs)},)"]
    return Translation(
        function=function,
        source="\n    ".join(lines) + "\n",
        arguments=tuple(writer.arguments.values()),
        outputs=tuple(outputs),
        kept_inside=tuple(graph.tensors[uid].name for uid in writer.kept_inside),
        idioms=tuple(idiom.name for idiom in idioms),
        positive=_positive_inputs(graph),
    )
