/// What golden data ask of synthesis, by the reference's names.
fn synthesis(params: &serde_json::Value) -> aiperf_plan::Synthesis {
    let factor = |name: &str| params[name].as_f64().unwrap_or(1.0);
    let limit = |name: &str| params[name].as_u64().map(|limit| limit as u32);
    aiperf_plan::Synthesis {
        speedup: factor("speedup_ratio"),
        prefix_len: factor("prefix_len_multiplier"),
        prefix_roots: factor("prefix_root_multiplier") as u32,
        prompt_len: factor("prompt_len_multiplier"),
        output_len: factor("output_len_multiplier"),
        max_isl: limit("max_isl"),
        max_osl: limit("max_osl"),
    }
}
