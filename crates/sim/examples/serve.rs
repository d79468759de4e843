//! Serves from the command line: `cargo run --release -p aiperf-sim --example serve -- --port 8000 --ttft 50 --itl 10`.

use std::error::Error;

use aiperf_sim::{Sim, SimConfig, parse_duration};

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = SimConfig::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        if option == "--burst" {
            config.burst = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{option} wants a value"))?;
        match option.as_str() {
            "--host" => config.host = value.parse()?,
            "--port" => config.port = value.parse()?,
            "--threads" => config.threads = value.parse()?,
            "--model" => config.model = Some(value),
            "--max-model-len" => config.max_model_len = Some(value.parse()?),
            "--ttft" => config.ttft = value.parse()?,
            "--itl" => config.itl = value.parse()?,
            "--tokens-per-chunk" => config.tokens_per_chunk = value.parse()?,
            "--osl" => config.osl = value.parse()?,
            "--eos" => config.eos = Some(value.parse()?),
            "--reasoning-tokens" => config.reasoning_tokens = value.parse()?,
            "--embedding-dim" => config.embedding_dim = value.parse()?,
            "--max-running" => config.max_running = Some(value.parse()?),
            "--step" => config.step = Some(parse_duration(&value)?),
            "--fault" => config.faults.push(value.parse()?),
            "--truth-log" => config.truth_log = Some(value.into()),
            "--seed" => config.seed = value.parse()?,
            _ => return Err(format!("no such option: {option}").into()),
        }
    }
    let mut sim = Sim::bind(config)?;
    sim.stop_on_signals()?;
    println!("listening on http://{}", sim.local_addr());
    sim.run()?;
    Ok(())
}
