# The wrappers: how a kernel of a wheel is called, and what torch computes for the same inputs.
import collections

# inputs: name -> expression. module: None for a file of TritonBench, which stands alone. call, reference: an expression or statements.
Case = collections.namedtuple("Case", "name path module imports inputs call reference tolerance")


def _bench(name, inputs, call, reference, tolerance=1e-3, file=None):
    path = f"geak_eval/data/TritonBench/data/TritonBench_G_v1/{file or name}.py"
    return Case(f"bench_{name}", path, None, None, inputs, call, reference, tolerance)


def _liger(name, file, imports, inputs, call, reference, tolerance=1e-3):
    return Case(f"liger_{name}", None, f"liger_kernel.ops.{file}", imports, inputs, call, reference, tolerance)


def _conch(name, module, imports, inputs, call, reference, tolerance=1e-3):
    return Case(f"conch_{name}", None, f"conch.kernels.{module}", imports, inputs, call, reference, tolerance)


_X = {"x": "torch.randn(1000)"}
_ROWS = {"x": "torch.randn(6, 100)"}
_ATTENTION = {name: "torch.randn(1, 2, 128, 64, dtype=torch.float16)" for name in "qkv"}


def _tritonbench():
    return [
        _bench("add_value", _X, "puzzle1(x)", "x + 10"),
        _bench("add_example", {"x": "torch.randn(50)", "y": "torch.randn(50)"}, "add_wrapper(x, y)", "x + y"),
        _bench("vector_addition", {"x": "torch.randn(3000)", "y": "torch.randn(3000)"}, "add(x, y)", "x + y"),
        _bench("vector_addition_custom", {"a": "torch.randn(600)", "b": "torch.randn(600)"}, "custom_add(a, b)", "a + b"),
        _bench("cosine_compute", _X, "cos(x)", "torch.cos(x)"),
        _bench("sin_kernel", _X, "call_kernel(x)", "torch.sin(x)"),
        _bench("sin_computation", _X, "out = torch.empty_like(x)\nsin_triton(x, out)\nreturn out", "torch.sin(x)"),
        _bench("relu_triton_kernel", _X, "relu(x)", "torch.relu(x)"),
        _bench("kldiv_compute", {"x": "torch.rand(1000) + 0.1", "y": "torch.rand(1000) + 0.1"}, "kldivergence(x, y)", "x * torch.log(x / y)"),
        _bench("square_matrix", _ROWS, "square(x)", "x * x"),
        _bench("triton_mul2", _X, "triton_mul2(x)", "x * 2"),
        _bench("triton_mul2_inplace", _X, "y = x.clone()\ntriton_mul2_inplace(y)\nreturn y", "x * 2", file="triton_mul2"),
        _bench("masked_add", {"g": "torch.randn(2000)", "p": "torch.randn(2000)", "m": "torch.randint(0, 2, (2000,))"},
               "h = g.clone()\nmasked_add(h, p, m, alpha=0.5)\nreturn h", "g + torch.where(m == 0, p * 0.5, 0)", file="masked_add_cuda"),
        _bench("fused_activation", {"x": "torch.randn(4096)", "b": "torch.randn(64)", "y": "torch.randn(4096)"},
               "fused_add_mul_activation_torch(x.clone(), b, y)", "torch.sigmoid(x + b.repeat(64) + 0.5 * y)"),
        _bench("softmax_triton1", _ROWS, "softmax(x)", "torch.softmax(x, -1)"),
        _bench("softmax_triton2", _ROWS, "softmax(x)", "torch.softmax(x, -1)"),
        _bench("softmax_triton3", _ROWS, "softmax(x)", "torch.softmax(x, -1)"),
        _bench("softmax_optimize", _ROWS, "softmax(x)", "torch.softmax(x, -1)"),
        _bench("triton_softmax", _ROWS, "triton_softmax(x)", "torch.softmax(x, -1)"),
        _bench("l2_norm_triton1", _ROWS, "_l2_norm_fwd(x)", "x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)"),
        _bench("l2_norm_triton2", _ROWS, "_l2_norm_fwd(x)", "x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)"),
        _bench("l2_norm_bwd", {"x": "torch.randn(6, 100)", "dy": "torch.randn(6, 100)"}, "_l2_norm_bwd(x, dy)",
               "r = torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-5)\n"
               "return dy * r - (dy * x).sum(-1, keepdim=True) / ((x * x).sum(-1, keepdim=True) + 1e-5) * r * x"),
        _bench("logsumexp_fwd", _ROWS, "logsumexp_fwd(x)", "torch.logsumexp(x, -1)"),
        _bench("mean_reduction", {"x": "torch.randn(4, 50, 30)"}, "mean_dim(x, [1])", "x.mean(1)"),
        _bench("rmsnorm_fused_llama", {"x": "torch.randn(6, 128)", "w": "torch.rand(128)"}, "rmsnorm_forward(x, w, 1e-6)",
               "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w"),
        _bench("rmsnorm_implementation", {"x": "torch.randn(2, 3, 128)", "w": "torch.rand(128)"}, "rmsnorm_wrapper(x, w)",
               "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w"),
        _bench("rms_norm_triton", {"x": "torch.randn(6, 100)", "w": "torch.rand(100)"}, "rms_norm(x, (100,), w)",
               "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w"),
        _bench("rmsnorm_fused_bf16", {"x": "torch.randn(6, 128).bfloat16()", "w": "torch.rand(128).bfloat16()"}, "rmsnorm_forward(x, w, 1e-6)",
               "f = x.float()\nreturn (f * torch.rsqrt((f * f).mean(-1, keepdim=True) + 1e-6) * w.float()).bfloat16()", 2e-2,
               file="rmsnorm_fused_llama"),
        _bench("layernorm_fwd_triton", {"x": "torch.randn(2, 3, 4, 64)", "w": "torch.rand(4, 64)"}, "layernorm_forward(x.view(6, 4, 64), w, 1e-5).view(2, 3, 4, 64)",
               "(x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5) * w"),
        _bench("swiglu_fwd", {"x": "torch.randn(6, 200)"}, "_swiglu_fwd(x)", "a, b = x.chunk(2, -1)\nreturn F.silu(a) * b"),
        _bench("swiglu_triton", {"a": "torch.randn(6, 100)", "b": "torch.randn(6, 100)"}, "swiglu_forward(a, b)[2]", "F.silu(a) * b"),
        _bench("geglu_tanh_triton", {"a": "torch.randn(6, 100)", "b": "torch.randn(6, 100)"}, "geglu_forward(a, b)[2]",
               "F.gelu(a, approximate='tanh') * b"),
        _bench("chunk_cumsum_kernel", {"s": "torch.rand(2, 3, 100)"}, "chunk_global_cumsum_scalar(s)", "s.cumsum(-1)"),
        _bench("chunk_cumsum_vector", {"s": "torch.rand(2, 3, 100, 20)"}, "chunk_global_cumsum_vector(s)", "s.cumsum(2)"),
        _bench("reversed_cumsum", {"s": "torch.rand(2, 3, 100, 20)"}, "chunk_global_reversed_cumsum_vector(s)", "s.flip(2).cumsum(2).flip(2)"),
        _bench("reversed_cumsum_scalar", {"s": "torch.rand(2, 3, 100)"}, "chunk_global_reversed_cumsum_scalar(s)", "s.flip(-1).cumsum(-1).flip(-1)"),
        _bench("matrix_vector_multip", {"a": "torch.randn(60, 100)", "x": "torch.randn(100)"}, "mv(a, x)", "a @ x"),
        _bench("matmul_triton2", {"a": "torch.randn(64, 64, dtype=torch.float16)", "b": "torch.randn(64, 64, dtype=torch.float16)"},
               "triton_matmul(a, b)", "a @ b", 1e-2),
        _bench("matmul_leakyrelu", {"a": "torch.randn(70, 64, dtype=torch.float16)", "b": "torch.randn(64, 80, dtype=torch.float16)"},
               "matmul(a, b, activation='leaky_relu')", "F.leaky_relu(a @ b)", 1e-2),
        _bench("triton_matmul", {"a": "torch.randn(64, 64, dtype=torch.float16)", "b": "torch.randn(64, 64, dtype=torch.float16)"},
               "matmul(a, b)", "a @ b", 1e-2),
        _bench("matmul_triton_autotune", {"a": "torch.randn(70, 64, dtype=torch.float16)", "b": "torch.randn(64, 80, dtype=torch.float16)"},
               "matmul(a, b)", "a @ b", 1e-2),
        _bench("index_select_cat", {"x": "torch.randn(40, 512)", "i": "torch.randint(0, 40, (10,))"},
               "y = torch.empty(10, 512, device=x.device)\nindex_select_cat_fwd(y, x, i)\nreturn y", "x[i]"),
        _bench("destindex_copy_kv1", {"k": "torch.randn(20, 12, 96, dtype=torch.float16)", "i": "torch.randperm(20, dtype=torch.int32)"},
               "y = torch.empty_like(k)\ndestindex_copy_kv(k, i, y)\nreturn y", "y = torch.empty_like(k)\ny[i.long()] = k\nreturn y"),
        _bench("destindex_copy_kv2", {"k": "torch.randn(20, 16, 64, dtype=torch.float16)", "i": "torch.randperm(20, dtype=torch.int32)"},
               "y = torch.empty_like(k)\ndestindex_copy_kv(k, i, y)\nreturn y", "y = torch.empty_like(k)\ny[i.long()] = k\nreturn y"),
        _bench("embedding_triton_kernel", {"i": "torch.randint(0, 100, (30,), dtype=torch.int32)", "w": "torch.randn(100, 128)"},
               "y = torch.zeros(30, 128, device=w.device)\nembedding(i, w, 0, 100, y)\nreturn y", "w[i.long()]"),
        _bench("dequantize_rowwise", {"x": "torch.randint(-127, 127, (10, 32), dtype=torch.int8)", "s": "torch.rand(10) * 10"},
               "dequantize_rowwise(x, s)", "(x.float() * s[:, None] / 127).half()", 1e-2),
        _bench("flash_attn", _ATTENTION, "flash_attn_triton(q, k, v, True, 0.125)", "F.scaled_dot_product_attention(q, k, v, is_causal=True)", 2e-2),
        _bench("matmul_triton1", {"a": "torch.randn(16, 16)", "b": "torch.randn(16, 16)"}, "matmul(a, b)", "a @ b", 1e-2),
        _bench("dropout_triton", {"x": "torch.randn(500)", "k": "torch.randint(0, 2, (500,), dtype=torch.int32)"}, "dropout(x, x_keep=k, p=0.5)",
               "torch.where(k > 0, x * 2, 0)"),
        _bench("token_softmax_llama", {"x": "torch.randn(2, 16)", "s": "torch.tensor([0, 8], dtype=torch.int32)", "n": "torch.tensor([8, 8], dtype=torch.int32)"},
               "y = torch.empty_like(x)\ntoken_softmax_fwd(x, s, n, y, 8)\nreturn y", "torch.softmax(x.view(2, 2, 8), -1).view(2, 16)"),
        _bench("token_softmax_bloom", {"x": "torch.randn(2, 16)", "s": "torch.tensor([0, 8], dtype=torch.int32)", "n": "torch.tensor([8, 8], dtype=torch.int32)"},
               "y = torch.empty_like(x)\ntoken_softmax_fwd(x, s, n, y, 8)\nreturn y", "torch.softmax(x.view(2, 2, 8), -1).view(2, 16)"),
        _bench("swiglu_backward", {"x": "torch.randn(6, 200)", "d": "torch.randn(6, 100)"}, "_swiglu_bwd(x, d)",
               "a, b = x.chunk(2, -1)\ns = torch.sigmoid(a)\nreturn torch.cat([s * (1 + a * (1 - s)) * b * d, a * s * d], -1)"),
        _bench("bmm_chunk_fwd", {"a": "torch.randn(2, 64, 64, dtype=torch.float16)", "b": "torch.randn(2, 64, 64, dtype=torch.float16)"},
               "_bmm_chunk_fwd(a, b, 32, output_dtype=torch.float32)",
               "f = lambda v: v.view(2, 2, 32, 64).float()\nreturn f(a) @ f(b).transpose(-1, -2)", 1e-2),
        _bench("f8_round_trip", {"x": "torch.randn(16, 128, dtype=torch.float16)"}, "f8_to_f16(f16_to_f8(x))", "x.to(torch.float8_e5m2).half()",
               1e-2, file="f8_conversion_utils"),
        _bench("quantize_copy_kv", {"k": "torch.randn(40, 8, 64, dtype=torch.float16)", "i": "torch.randperm(40, dtype=torch.int32)"},
               "y = torch.zeros(40, 8, 64, device=k.device, dtype=torch.int8)\ns = torch.zeros(40, 8, 1, device=k.device, dtype=torch.float16)\n"
               "destindex_copy_quantize_kv(k, i, y, s)\nreturn y.float() * s.float()",
               "y = torch.empty(40, 8, 64, device=k.device)\ny[i.long()] = k.float()\nreturn y", 3e-2),
        _bench("relu_bf16", {"x": "torch.randn(1024).bfloat16()"}, "relu(x)", "torch.relu(x)", file="relu_triton_kernel"),
        _bench("add_bf16", {"x": "torch.randn(3000).bfloat16()", "y": "torch.randn(3000).bfloat16()"}, "add(x, y)", "x + y", file="vector_addition"),
        _bench("custom_add_bf16", {"a": "torch.randn(600).bfloat16()", "b": "torch.randn(600).bfloat16()"}, "custom_add(a, b)", "a + b",
               file="vector_addition_custom"),
        _bench("mul2_bf16", {"x": "torch.randn(1000).bfloat16()"}, "triton_mul2(x)", "x * 2", file="triton_mul2"),
        _bench("square_bf16", {"x": "torch.randn(6, 128).bfloat16()"}, "square(x)", "x * x", file="square_matrix"),
        _bench("add_value_bf16", {"x": "torch.randn(1000).bfloat16()"}, "puzzle1(x)", "x + 10", 2e-2, file="add_value"),
        _bench("swiglu_bf16", {"x": "torch.randn(6, 256).bfloat16()"}, "_swiglu_fwd(x)",
               "a, b = x.float().chunk(2, -1)\nreturn (F.silu(a) * b).bfloat16()", 2e-2, file="swiglu_fwd"),
        _bench("l2_norm_bf16", {"x": "torch.randn(6, 128).bfloat16()"}, "_l2_norm_fwd(x)",
               "f = x.float()\nreturn (f * torch.rsqrt((f * f).sum(-1, keepdim=True) + 1e-6)).bfloat16()", 2e-2, file="l2_norm_triton1"),
        _bench("cumsum_bf16", {"s": "torch.rand(2, 3, 128).bfloat16()"}, "chunk_global_cumsum_scalar(s)", "s.float().cumsum(-1).bfloat16()", 2e-2,
               file="chunk_cumsum_kernel"),
        _bench("adam_update_triton", {"p": "torch.randn(500)", "g": "torch.randn(500)", "m": "torch.randn(500)"},
               "a, b = p.clone(), m.clone()\nupdate_fn(a, g, b, 0.01, 0.01, 0.9, 0.999)\nreturn a, b",
               "a = p * (1 - 0.01 * 0.01)\nu = torch.sign(m * 0.9 + g * 0.1)\nreturn a - 0.01 * u, m * 0.999 + g * 0.001"),
    ]  # fmt: skip


def _ligers():
    return [
        _liger("rms_norm", "rms_norm", "rms_norm_forward", {"x": "torch.randn(6, 100)", "w": "torch.rand(100)"},
               "rms_norm_forward(x, w, 1e-6, 0.0, 'llama', False)[0]", "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w"),
        _liger("rms_norm_bf16", "rms_norm", "rms_norm_forward", {"x": "torch.randn(6, 128).bfloat16()", "w": "torch.rand(128).bfloat16()"},
               "rms_norm_forward(x, w, 1e-6, 0.0, 'llama', False)[0]",
               "f = x.float()\nreturn (f * torch.rsqrt((f * f).mean(-1, keepdim=True) + 1e-6)).bfloat16() * w", 2e-2),
        _liger("rms_norm_gemma", "rms_norm", "rms_norm_forward", {"x": "torch.randn(6, 128).bfloat16()", "w": "torch.rand(128).bfloat16()"},
               "rms_norm_forward(x, w, 1e-6, 1.0, 'gemma', False)[0]",
               "f = x.float()\nreturn (f * torch.rsqrt((f * f).mean(-1, keepdim=True) + 1e-6) * (1 + w.float())).bfloat16()", 2e-2),
        _liger("layer_norm", "layer_norm", "layer_norm_forward", {"x": "torch.randn(6, 100)", "w": "torch.rand(100)", "b": "torch.randn(100)"},
               "layer_norm_forward(x, w, b, 1e-5)[0]", "F.layer_norm(x, (100,), w, b)"),
        _liger("layer_norm_bf16", "layer_norm", "layer_norm_forward",
               {"x": "torch.randn(6, 128).bfloat16()", "w": "torch.rand(128).bfloat16()", "b": "torch.randn(128).bfloat16()"},
               "layer_norm_forward(x, w, b, 1e-5)[0]", "F.layer_norm(x.float(), (128,), w.float(), b.float()).bfloat16()", 2e-2),
        _liger("geglu", "geglu", "geglu_forward", {"a": "torch.randn(6, 100)", "b": "torch.randn(6, 100)"}, "geglu_forward(a, b)[2]",
               "F.gelu(a, approximate='tanh') * b"),
        _liger("geglu_bf16", "geglu", "geglu_forward", {"a": "torch.randn(6, 128).bfloat16()", "b": "torch.randn(6, 128).bfloat16()"},
               "geglu_forward(a, b)[2]", "F.gelu(a.float(), approximate='tanh').bfloat16() * b", 2e-2),
        _liger("swiglu", "swiglu", "swiglu_forward", {"a": "torch.randn(6, 100)", "b": "torch.randn(6, 100)"}, "swiglu_forward(a, b)[2]",
               "F.silu(a) * b"),
        _liger("swiglu_bf16", "swiglu", "swiglu_forward", {"a": "torch.randn(6, 128).bfloat16()", "b": "torch.randn(6, 128).bfloat16()"},
               "swiglu_forward(a, b)[2]", "F.silu(a.float()).bfloat16() * b", 2e-2),
        _liger("softmax", "softmax", "_softmax_forward", {"x": "torch.randn(6, 100)"}, "_softmax_forward(x)[0]", "torch.softmax(x, -1)"),
        _liger("kl_div", "kl_div", "kldiv_forward_triton", {"p": "F.log_softmax(torch.randn(6, 100), -1)", "q": "torch.softmax(torch.randn(6, 100), -1)"},
               "kldiv_forward_triton(p, q, False, 'none', 1e-10)", "F.kl_div(p, q, reduction='none')"),
        _liger("tvd", "tvd", "tv_distance_forward_triton", {"p": "torch.softmax(torch.randn(6, 100), -1)", "q": "torch.softmax(torch.randn(6, 100), -1)"},
               "tv_distance_forward_triton(p, q, None, 'none', -100, False)[0]", "0.5 * (p - q).abs()"),
        _liger("group_norm", "group_norm", "group_norm_forward", {"x": "torch.randn(2, 6, 20)", "w": "torch.rand(6)", "b": "torch.randn(6)"},
               "group_norm_forward(x, 6, 3, w, b, 1e-5)[0]", "F.group_norm(x, 3, w, b, 1e-5)"),
        _liger("dyt", "dyt", "liger_dyt_fwd", {"x": "torch.randn(6, 100)", "a": "torch.rand(1)", "g": "torch.rand(100)", "b": "torch.randn(100)"},
               "liger_dyt_fwd(x, a, g, b)", "g * torch.tanh(a * x) + b"),
        _liger("relu_squared", "relu_squared", "relu_squared_forward", {"x": "torch.randn(6, 100)"},
               "y = relu_squared_forward(x)\nreturn y[-1] if isinstance(y, tuple) else y", "torch.relu(x) ** 2"),
        _liger("poly_norm", "poly_norm", "poly_norm_forward", {"x": "torch.randn(6, 100)", "w": "torch.rand(3)", "b": "torch.rand(1)"},
               "poly_norm_forward(x, w, b)[0]",
               "n = lambda v: v * torch.rsqrt((v * v).mean(-1, keepdim=True) + 1e-6)\n"
               "return w[0] * n(x ** 3) + w[1] * n(x ** 2) + w[2] * n(x) + b"),
        _liger("cross_entropy", "cross_entropy", "cross_entropy_forward", {"x": "torch.randn(8, 100)", "t": "torch.randint(0, 100, (8,))"},
               "cross_entropy_forward(x.clone(), t, None, -100, 0.0, 0.0, 'mean', None, False)[0]", "F.cross_entropy(x, t)"),
    ]  # fmt: skip


def _fla(name, module, imports, inputs, call, reference, tolerance=1e-3):
    return Case(f"fla_{name}", None, f"fla.{module}", imports, inputs, call, reference, tolerance)


def _gems(name, file, imports, inputs, call, reference, tolerance=1e-3):
    return Case(f"gems_{name}", None, f"flag_gems.ops.{file}", imports, inputs, call, reference, tolerance)


def _flas():
    activation = {"x": "torch.randn(6, 100)"}
    cases = [
        _fla(name, "modules.activations.ops", f"{name}_fwd", activation, f"{name}_fwd(x)", reference)
        for name, reference in (("sigmoid", "torch.sigmoid(x)"), ("elu_p1", "F.elu(x) + 1"), ("logsigmoid", "F.logsigmoid(x)"), ("swish", "F.silu(x)"))
    ]
    cases += [
        _fla(f"{name}_bf16", "modules.activations.ops", f"{name}_fwd", {"x": "torch.randn(6, 128).bfloat16()"}, f"{name}_fwd(x)",
             f"{reference}.bfloat16()", 2e-2)
        for name, reference in (("sigmoid", "torch.sigmoid(x.float())"), ("logsigmoid", "F.logsigmoid(x.float())"), ("swish", "F.silu(x.float())"))
    ]  # fmt: skip
    return cases + [
        _fla("swiglu", "modules.activations.ops", "swiglu_fwd", {"x": "torch.randn(6, 100)", "y": "torch.randn(6, 100)"}, "swiglu_fwd(x, y)", "F.silu(x) * y"),
        _fla("softmax", "ops.utils.softmax", "softmax_fwd", activation, "softmax_fwd(x)", "torch.softmax(x, -1)"),
        _fla("l2norm", "modules.norm.l2norm", "l2norm_fwd", activation, "l2norm_fwd(x)[0]", "x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)"),
        _fla("l2norm_bf16", "modules.norm.l2norm", "l2norm_fwd", {"x": "torch.randn(6, 128).bfloat16()"}, "l2norm_fwd(x)[0]",
             "f = x.float()\nreturn (f * torch.rsqrt((f * f).sum(-1, keepdim=True) + 1e-6)).bfloat16()", 2e-2),
        _fla("layer_norm", "modules.norm.layernorm", "layer_norm_fwd", {"x": "torch.randn(6, 100)", "w": "torch.rand(100)", "b": "torch.randn(100)"},
             "layer_norm_fwd(x, w, b, 1e-5)[0]", "F.layer_norm(x, (100,), w, b)"),
        _fla("rms_norm", "modules.norm.layernorm", "layer_norm_fwd", {"x": "torch.randn(6, 100)", "w": "torch.rand(100)"},
             "layer_norm_fwd(x, w, None, 1e-5, is_rms_norm=True)[0]", "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w"),
        _fla("rms_norm_bf16", "modules.norm.layernorm", "layer_norm_fwd", {"x": "torch.randn(6, 128).bfloat16()", "w": "torch.rand(128).bfloat16()"},
             "layer_norm_fwd(x, w, None, 1e-5, is_rms_norm=True)[0]",
             "f = x.float()\nreturn (f * torch.rsqrt((f * f).mean(-1, keepdim=True) + 1e-5) * w.float()).bfloat16()", 2e-2),
        _fla("cumsum_scalar", "ops.utils.cumsum", "chunk_global_cumsum_scalar", {"s": "torch.rand(2, 100, 3)"}, "chunk_global_cumsum_scalar(s)", "s.cumsum(1)"),
        _fla("cumsum_vector", "ops.utils.cumsum", "chunk_global_cumsum_vector", {"s": "torch.rand(2, 100, 3, 20)"}, "chunk_global_cumsum_vector(s)", "s.cumsum(1)"),
        _fla("cumsum_local", "ops.utils.cumsum", "chunk_local_cumsum_scalar", {"s": "torch.rand(2, 128, 3)"}, "chunk_local_cumsum_scalar(s, 32)",
             "s.view(2, 4, 32, 3).cumsum(2).view(2, 128, 3)"),
        _fla("logsumexp", "ops.utils.logsumexp", "logsumexp_fwd", activation, "logsumexp_fwd(x)", "torch.logsumexp(x, -1)"),
        _fla("mean_pooling", "ops.utils.pooling", "mean_pooling_fwd", {"x": "torch.randn(2, 128, 3, 32)"}, "mean_pooling_fwd(x, 32)",
             "x.view(2, 4, 32, 3, 32).mean(2)"),
        _fla("matmul", "ops.utils.matmul", "matmul", {"a": "torch.randn(64, 64, dtype=torch.float16)", "b": "torch.randn(64, 64, dtype=torch.float16)"},
             "matmul(a, b)", "a @ b", 1e-2),
    ]  # fmt: skip


def _all_gems():
    x, pair = {"x": "torch.randn(6, 100)"}, {"x": "torch.randn(200)", "y": "torch.randn(200)"}
    half = {"x": "torch.randn(6, 128).bfloat16()"}
    return [
        _gems("softmax", "softmax", "softmax", x, "softmax(x, -1)", "torch.softmax(x, -1)"),
        _gems("softmax_dim0", "softmax", "softmax", {"x": "torch.randn(40, 16)"}, "softmax(x, 0)", "torch.softmax(x, 0)"),
        _gems("softmax_bf16", "softmax", "softmax", half, "softmax(x, -1)", "torch.softmax(x.float(), -1).bfloat16()", 2e-2),
        _gems("log_softmax", "log_softmax", "log_softmax", x, "log_softmax(x, -1)", "torch.log_softmax(x, -1)"),
        _gems("log_softmax_bf16", "log_softmax", "log_softmax", half, "log_softmax(x, -1)", "torch.log_softmax(x.float(), -1).bfloat16()", 2e-2),
        _gems("sum", "sum", "sum", x, "sum(x)", "x.sum()"),
        _gems("sum_dim", "sum", "sum_dim", x, "sum_dim(x, [1])", "x.sum(1)"),
        _gems("mean", "mean", "mean", x, "mean(x)", "x.mean()"),
        _gems("mean_dim", "mean", "mean_dim", x, "mean_dim(x, [1])", "x.mean(1)"),
        _gems("amax", "amax", "amax", x, "amax(x, [1])", "x.amax(1)"),
        _gems("amax_bf16", "amax", "amax", half, "amax(x, [1])", "x.amax(1)"),
        _gems("max", "max", "max", x, "max(x)", "x.max()"),
        _gems("max_dim", "max", "max_dim", x, "v = max_dim(x, 1)\nreturn v[0], v[1]", "v = x.max(1)\nreturn v.values, v.indices"),
        _gems("argmax", "argmax", "argmax", x, "argmax(x, 1)", "x.argmax(1)"),
        _gems("prod", "prod", "prod_dim", {"x": "torch.rand(6, 20) + 0.5"}, "prod_dim(x, 1)", "x.prod(1)"),
        _gems("any", "any", "any_dim", {"x": "torch.randn(6, 100) > 2.3"}, "any_dim(x, 1)", "x.any(1)"),
        _gems("all", "all", "all_dim", {"x": "torch.randn(6, 100) > -2.3"}, "all_dim(x, 1)", "x.all(1)"),
        _gems("vector_norm", "vector_norm", "vector_norm", x, "vector_norm(x, 2, [1])", "torch.linalg.vector_norm(x, 2, [1])"),
        _gems("dot", "dot", "dot", pair, "dot(x, y)", "torch.dot(x, y)"),
        _gems("mv", "mv", "mv", {"a": "torch.randn(50, 70)", "x": "torch.randn(70)"}, "mv(a, x)", "a @ x"),
        _gems("index_select", "index_select", "index_select", {"x": "torch.randn(30, 20)", "i": "torch.randint(0, 30, (9,))"},
              "index_select(x, 0, i)", "x.index_select(0, i)"),
        _gems("embedding", "embedding", "embedding", {"w": "torch.randn(50, 64)", "i": "torch.randint(0, 50, (3, 7))"}, "embedding(w, i)", "w[i]"),
        _gems("triu", "triu", "triu", {"x": "torch.randn(30, 40)"}, "triu(x, 1)", "x.triu(1)"),
        _gems("tril", "tril", "tril", {"x": "torch.randn(30, 40)"}, "tril(x, 1)", "x.tril(1)"),
        _gems("diag", "diag", "diag", {"x": "torch.randn(30)"}, "diag(x)", "torch.diag(x)"),
        _gems("count_nonzero", "count_nonzero", "count_nonzero", {"x": "torch.randint(0, 3, (60, 20))"}, "count_nonzero(x)", "torch.count_nonzero(x)"),
        _gems("var_mean", "var_mean", "var_mean", x, "v = var_mean(x, [1])\nreturn v[0], v[1]", "v = torch.var_mean(x, [1])\nreturn v[0], v[1]"),
        _gems("group_norm", "groupnorm", "group_norm", {"x": "torch.randn(2, 6, 20)", "w": "torch.rand(6)", "b": "torch.randn(6)"},
              "group_norm(x, w, b, 2, 6, 20, 3)[0]", "F.group_norm(x, 3, w, b)"),
        _gems("rms_norm", "rms_norm", "rms_norm_forward", {"x": "torch.randn(6, 100)", "w": "torch.rand(100)"},
              "y = rms_norm_forward(x, (100,), w)\nreturn y[0] if isinstance(y, tuple) else y", "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w"),
        _gems("trace", "trace", "trace", {"x": "torch.randn(40, 50)"}, "trace(x)", "x.trace()"),
    ]  # fmt: skip


def _conches():
    return [
        _conch("silu_and_mul", "activation.silu_and_mul", "silu_and_mul_launcher", {"x": "torch.randn(6, 200)"},
               "y = torch.empty(6, 100, device=x.device)\nsilu_and_mul_launcher(y, x)\nreturn y", "a, b = x.chunk(2, -1)\nreturn F.silu(a) * b"),
        _conch("gelu_tanh_and_mul", "activation.gelu_tanh_and_mul", "gelu_tanh_and_mul_launcher", {"x": "torch.randn(6, 200)"},
               "y = torch.empty(6, 100, device=x.device)\ngelu_tanh_and_mul_launcher(y, x)\nreturn y",
               "a, b = x.chunk(2, -1)\nreturn F.gelu(a, approximate='tanh') * b"),
        _conch("silu_and_mul_bf16", "activation.silu_and_mul", "silu_and_mul_launcher", {"x": "torch.randn(6, 256).bfloat16()"},
               "y = torch.empty(6, 128, device=x.device, dtype=x.dtype)\nsilu_and_mul_launcher(y, x)\nreturn y",
               "a, b = x.float().chunk(2, -1)\nreturn (F.silu(a) * b).bfloat16()", 2e-2),
        _conch("rms_norm", "normalization.rms_norm", "rms_norm_launcher", {"x": "torch.randn(6, 100)", "w": "torch.rand(100)"},
               "y = torch.empty_like(x)\nrms_norm_launcher(y, x, w, 1e-6)\nreturn y", "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w"),
        _conch("rms_norm_bf16", "normalization.rms_norm", "rms_norm_launcher", {"x": "torch.randn(6, 128).bfloat16()", "w": "torch.rand(128).bfloat16()"},
               "y = torch.empty_like(x)\nrms_norm_launcher(y, x, w, 1e-6)\nreturn y",
               "f = x.float()\nreturn (f * torch.rsqrt((f * f).mean(-1, keepdim=True) + 1e-6) * w.float()).bfloat16()", 2e-2),
        _conch("fused_add_rms_norm", "normalization.rms_norm", "fused_add_rms_norm_launcher",
               {"x": "torch.randn(6, 100)", "r": "torch.randn(6, 100)", "w": "torch.rand(100)"},
               "a, b = x.clone(), r.clone()\nfused_add_rms_norm_launcher(a, b, w, 1e-6)\nreturn a, b",
               "s = x + r\nreturn s * torch.rsqrt((s * s).mean(-1, keepdim=True) + 1e-6) * w, s"),
        _conch("int8_quant", "quantization.int8", "static_scaled_int8_quant_launcher", {"x": "torch.randn(6, 128)", "s": "torch.full((1,), 0.02)"},
               "y = torch.empty(6, 128, device=x.device, dtype=torch.int8)\nstatic_scaled_int8_quant_launcher(y, x, s)\nreturn y",
               "torch.clamp(torch.round(x / s), -128, 127).to(torch.int8)", 1e-2),
    ]  # fmt: skip


def all_cases():
    return [*_tritonbench(), *_ligers(), *_conches(), *_flas(), *_all_gems()]
