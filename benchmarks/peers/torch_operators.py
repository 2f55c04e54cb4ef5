"""What hipDNN's modes are called in PyTorch."""

from __future__ import annotations

from hipdnn_graph import Node, NotTranslated

# a, b, c are in_0, in_1, in_2; a backward mode has the gradient in a. Parameters have their
# attributes' names.
POINTWISE = {
    "ABS": "torch.abs({a})",
    "ADD": "{a} + {b}",
    "ADD_SQUARE": "{a} + {b} * {b}",
    "BINARY_SELECT": "torch.where({c} != 0, {a}, {b})",
    "CEIL": "torch.ceil({a})",
    "CMP_EQ": "{a} == {b}",
    "CMP_GE": "{a} >= {b}",
    "CMP_GT": "{a} > {b}",
    "CMP_LE": "{a} <= {b}",
    "CMP_LT": "{a} < {b}",
    "CMP_NEQ": "{a} != {b}",
    "DIV": "{a} / {b}",
    "ELU_BWD": "torch.ops.aten.elu_backward({a}, {elu_alpha}, 1, 1, False, {b})",
    "ELU_FWD": "F.elu({a}, {elu_alpha})",
    "ERF": "torch.erf({a})",
    "EXP": "torch.exp({a})",
    "FLOOR": "torch.floor({a})",
    "GELU_APPROX_TANH_BWD": 'torch.ops.aten.gelu_backward({a}, {b}, approximate="tanh")',
    "GELU_APPROX_TANH_FWD": 'F.gelu({a}, approximate="tanh")',
    "GELU_BWD": "torch.ops.aten.gelu_backward({a}, {b})",
    "GELU_FWD": "F.gelu({a})",
    "IDENTITY": "{a}",
    "LOG": "torch.log({a})",
    "LOGICAL_AND": "({a} != 0) & ({b} != 0)",
    "LOGICAL_NOT": "{a} == 0",
    "LOGICAL_OR": "({a} != 0) | ({b} != 0)",
    "MAX_OP": "torch.maximum({a}, {b})",
    "MIN_OP": "torch.minimum({a}, {b})",
    "MUL": "{a} * {b}",
    "NEG": "-{a}",
    "RECIPROCAL": "torch.reciprocal({a})",
    "RELU_BWD": "torch.ops.aten.threshold_backward({a}, {b}, 0)",
    "RELU_FWD": "torch.relu({a})",
    "RSQRT": "torch.rsqrt({a})",
    "SIGMOID_BWD": "torch.ops.aten.sigmoid_backward({a}, torch.sigmoid({b}))",
    "SIGMOID_FWD": "torch.sigmoid({a})",
    "SIN": "torch.sin({a})",
    "SOFTPLUS_BWD": "torch.ops.aten.softplus_backward({a}, {b}, {softplus_beta}, 20)",
    "SOFTPLUS_FWD": "F.softplus({a}, {softplus_beta})",
    "SQRT": "torch.sqrt({a})",
    "SUB": "{a} - {b}",
    "SWISH_BWD": "torch.ops.aten.silu_backward({a}, {b})",
    "SWISH_FWD": "F.silu({a})",
    "TAN": "torch.tan({a})",
    "TANH_BWD": "torch.ops.aten.tanh_backward({a}, torch.tanh({b}))",
    "TANH_FWD": "torch.tanh({a})",
}

# torch.maximum and torch.minimum take no numbers.
CLAMPS = {"MAX_OP": "torch.clamp({a}, min={b})", "MIN_OP": "torch.clamp({a}, max={b})"}

REDUCTIONS = {
    "ADD": "torch.sum({x}, dim={axes}, keepdim=True)",
    "AVG": "torch.mean({x}, dim={axes}, keepdim=True)",
    "MIN_OP": "torch.amin({x}, dim={axes}, keepdim=True)",
    "MAX_OP": "torch.amax({x}, dim={axes}, keepdim=True)",
    "AMAX": "torch.amax(torch.abs({x}), dim={axes}, keepdim=True)",
    "NORM1": "torch.linalg.vector_norm({x}, 1, dim={axes}, keepdim=True)",
    "NORM2": "torch.linalg.vector_norm({x}, 2, dim={axes}, keepdim=True)",
}


def pointwise_expression(node: Node, operands: list[str], is_second_number: bool) -> str:
    """The call for a pointwise node."""
    get, mode = node.attributes.get, node.mode
    clips = [get(f"relu_{name}") for name in ("lower_clip", "upper_clip", "lower_clip_slope")]
    has_parameters = clips[0] or clips[1] is not None or clips[2] or get("swish_beta", 1.0) != 1
    template = CLAMPS.get(mode) if is_second_number else None
    template = template or POINTWISE.get(mode)
    if mode == "RELU_FWD" and has_parameters and not clips[2]:
        template = f"torch.clamp({{a}}, {clips[0] or 0.0!r}, {clips[1]!r})"
    elif template is None or (has_parameters and mode.startswith(("RELU", "SWISH"))):
        raise NotTranslated(f"PointwiseAttributes, {mode}")
    numbers = {name: get(name, 1.0) for name in ("elu_alpha", "softplus_beta")}
    return template.format(**dict(zip("abc", operands)), **numbers)
