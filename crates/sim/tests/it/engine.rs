//! Latency, queueing, steps, and the counts on `/metrics`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aiperf_sim::{SimConfig, SimHandle};

use crate::client::{CHAT, COMPLETIONS, Client, chat, quick, request, serve};

/// The samples of the page, by name with labels but without those that never vary.
fn metrics(server: &SimHandle) -> HashMap<String, f64> {
    let page = Client::connect(server.addr).get("/metrics");
    page.text()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let name = name.replace("engine=\"0\",", "").replace(",model_name=\"sim\"", "");
            (name.replace("{model_name=\"sim\"}", ""), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn the_first_token_and_those_after_it_take_their_time() {
    let server = serve(SimConfig { ttft: "30".parse().unwrap(), itl: "5".parse().unwrap(), ..quick() });
    let begin = Instant::now();
    Client::connect(server.addr).post(CHAT, &chat(r#""stream":true,"max_tokens":5"#));
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(50), "{took:?}");
    let begin = Instant::now();
    Client::connect(server.addr).post(CHAT, &chat(r#""max_tokens":5"#));
    assert!(begin.elapsed() >= Duration::from_millis(50));
}

#[test]
fn metrics_agree_with_what_was_served() {
    let server = serve(SimConfig { ttft: "20".parse().unwrap(), itl: "2".parse().unwrap(), ..quick() });
    let mut client = Client::connect(server.addr);
    for limit in [1, 4, 6] {
        client.post(CHAT, &chat(&format!(r#""stream":true,"max_tokens":{limit}"#)));
    }
    client.post(COMPLETIONS, r#"{"prompt":"a b","max_tokens":4,"n":2}"#);
    client.post(CHAT, "{nonsense");
    let page = metrics(&server);
    assert_eq!(page["vllm:prompt_tokens_total"], 3.0 * 3.0 + 2.0);
    assert_eq!(page["vllm:generation_tokens_total"], 19.0);
    assert_eq!(page["vllm:request_success_total{finished_reason=\"length\"}"], 5.0);
    assert_eq!(page["vllm:num_requests_running"], 0.0);
    assert_eq!(page["vllm:kv_cache_usage_perc"], 0.0);
    assert_eq!(page["vllm:request_generation_tokens_sum"], 19.0);
    assert_eq!(page["vllm:request_generation_tokens_count"], 5.0);
    assert_eq!(page["vllm:request_generation_tokens_bucket{le=\"1.0\"}"], 1.0);
    assert_eq!(page["vllm:request_generation_tokens_bucket{le=\"5.0\"}"], 4.0);
    assert_eq!(page["vllm:time_to_first_token_seconds_count"], 5.0);
    assert_eq!(page["vllm:time_to_first_token_seconds_bucket{le=\"0.01\"}"], 0.0);
    assert!(page["vllm:time_to_first_token_seconds_sum"] >= 0.1);
    assert_eq!(page["vllm:inter_token_latency_seconds_count"], 14.0);
    assert!(page["vllm:e2e_request_latency_seconds_sum"] >= 5.0 * 0.02 + 14.0 * 0.002);
    assert_eq!(page["http_requests_total{handler=\"/v1/chat/completions\",method=\"POST\",status=\"2xx\"}"], 3.0);
    assert_eq!(page["http_requests_total{handler=\"/v1/chat/completions\",method=\"POST\",status=\"4xx\"}"], 1.0);
}

/// Waits until a metric has a value; a minute without it is a failure.
fn until(server: &SimHandle, metric: &str, value: f64) {
    let begin = Instant::now();
    loop {
        let now = metrics(server)[metric];
        if now == value {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{metric} is {now}, not {value}, after a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn requests_beyond_the_batch_wait_their_turn() {
    let max_running = 2.try_into().ok();
    let server = serve(SimConfig { ttft: "300".parse().unwrap(), max_running, ..quick() });
    let mut clients: Vec<_> = (0..6).map(|_| Client::connect(server.addr)).collect();
    let begin = Instant::now();
    for client in &mut clients {
        client.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":2"#), "q"));
    }
    until(&server, "vllm:num_requests_waiting", 4.0);
    assert_eq!(metrics(&server)["vllm:num_requests_running"], 2.0);
    for (index, client) in clients.iter_mut().enumerate() {
        assert!(client.response().unwrap().complete);
        let earliest = Duration::from_millis(300 * (index as u64 / 2 + 1));
        assert!(begin.elapsed() >= earliest, "answer {index} after {:?}", begin.elapsed());
    }
    let after = metrics(&server);
    assert_eq!(after["vllm:num_requests_running"], 0.0);
    assert_eq!(after["vllm:num_requests_waiting"], 0.0);
    // Two waited 300 ms and two 600 ms, less what they arrived later than the first.
    let queued = after["vllm:request_queue_time_seconds_sum"];
    assert!(queued > 0.0, "{queued}");
    let first_tokens = after["vllm:time_to_first_token_seconds_sum"];
    assert!(first_tokens - queued >= 6.0 * 0.3 - 0.001, "{first_tokens} with {queued} queued");
}

#[test]
fn a_client_that_gives_up_frees_its_place() {
    let max_running = 1.try_into().ok();
    let server = serve(SimConfig { ttft: "1000".parse().unwrap(), max_running, ..quick() });
    let ask = request(CHAT, &chat(r#""stream":true,"max_tokens":2"#), "q");
    let mut running = Client::connect(server.addr);
    running.send(&ask);
    until(&server, "vllm:num_requests_running", 1.0);
    let mut waiting = Client::connect(server.addr);
    waiting.send(&ask);
    until(&server, "vllm:num_requests_waiting", 1.0);
    drop(running);
    drop(waiting);
    assert!(Client::connect(server.addr).post(CHAT, &chat(r#""max_tokens":1"#)).complete);
    let page = metrics(&server);
    assert_eq!(page["vllm:request_success_total{finished_reason=\"abort\"}"], 2.0);
    assert_eq!(page["vllm:num_requests_waiting"], 0.0);
}

#[test]
fn a_slow_reader_gets_everything_in_the_end() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    client.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":40000"#), "slow"));
    std::thread::sleep(Duration::from_millis(300));
    let answer = client.response().unwrap();
    assert!(answer.complete);
    assert_eq!(answer.pieces().len(), 40_000);
}
