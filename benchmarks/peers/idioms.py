"""Groups of nodes for which a user of PyTorch has one operator: softmax, its gradient, silu."""

from __future__ import annotations

from dataclasses import dataclass

from hipdnn_graph import Graph, Node


@dataclass(frozen=True)
class Idiom:
    name: str
    template: str  # around the operands, "{0}"
    operands: tuple[int, ...]  # uids
    nodes: tuple[Node, ...]  # the last one first

    @property
    def last(self) -> Node:
        return self.nodes[0]


def _made_by(graph: Graph, uid: int | None, kind: str, mode: str, uses: int = 1) -> Node | None:
    """The node that made the tensor, if it is of the mode and nobody else needs the tensor."""
    node = graph.producers.get(uid) if uid is not None else None
    if node is None or uid is None or node.kind != kind or node.mode != mode:
        return None
    is_inside = graph.tensors[uid].is_virtual and graph.uses[uid] == uses
    return node if is_inside else None


def _silu(graph: Graph, node: Node) -> Idiom | None:
    a, b = node.uid("in_0"), node.uid("in_1")
    for x, gate in ((a, b), (b, a)):
        sigmoid = _made_by(graph, gate, "Pointwise", "SIGMOID_FWD")
        if sigmoid and x is not None and sigmoid.uid("in_0") == x:
            return Idiom("silu", "F.silu({0})", (x,), (node, sigmoid))
    return None


def _softmax(graph: Graph, node: Node) -> Idiom | None:
    e = node.uid("in_0")
    total = _made_by(graph, node.uid("in_1"), "Reduction", "ADD")
    exp = _made_by(graph, e, "Pointwise", "EXP", uses=2)
    if not total or not exp or total.uid("in") != e:
        return None
    shifted = _made_by(graph, exp.uid("in_0"), "Pointwise", "SUB")
    largest = _made_by(graph, shifted.uid("in_1"), "Reduction", "MAX_OP") if shifted else None
    if not shifted or not largest or largest.uid("in") != shifted.uid("in_0"):
        return None
    axes = graph.reduced_axes(total)
    x = largest.uid("in")
    if len(axes) != 1 or axes != graph.reduced_axes(largest) or x is None:
        return None
    template = f"torch.softmax({{0}}, dim={axes[0]})"
    return Idiom("softmax", template, (x,), (node, total, exp, shifted, largest))


def _softmax_backward(graph: Graph, node: Node) -> Idiom | None:
    a, b = node.uid("in_0"), node.uid("in_1")
    for y, difference in ((a, b), (b, a)):
        shifted = _made_by(graph, difference, "Pointwise", "SUB")
        total = _made_by(graph, shifted.uid("in_1"), "Reduction", "ADD") if shifted else None
        product = _made_by(graph, total.uid("in"), "Pointwise", "MUL") if total else None
        if not shifted or not total or not product or y is None:
            continue
        dy, axes = shifted.uid("in_0"), graph.reduced_axes(total)
        factors = [product.uid("in_0"), product.uid("in_1")]
        if dy is not None and factors in ([y, dy], [dy, y]) and len(axes) == 1:
            call = "torch.ops.aten._softmax_backward_data"
            template = f"{call}({{0}}, {{1}}, {axes[0]}, {{1}}.dtype)"
            return Idiom("softmax backward", template, (dy, y), (node, shifted, total, product))
    return None


def find_idioms(graph: Graph) -> list[Idiom]:
    """In the order of their last nodes; no node is in two of them."""
    found: list[Idiom] = []
    taken: set[int] = set()
    matchers = {"MUL": (_softmax_backward, _silu), "DIV": (_softmax,)}
    for node in graph.nodes:
        candidates = matchers.get(node.mode, ()) if node.kind == "Pointwise" else ()
        idiom = next((idiom for match in candidates if (idiom := match(graph, node))), None)
        if idiom and not taken & {id(part) for part in idiom.nodes}:
            found.append(idiom)
            taken |= {id(part) for part in idiom.nodes}
    return found
