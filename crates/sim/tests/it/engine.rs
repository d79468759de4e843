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

/// A streamed request that asks for so many tokens.
fn ask(tokens: u32) -> Vec<u8> {
    request(CHAT, &chat(&format!(r#""stream":true,"max_tokens":{tokens}"#)), "q")
}

#[test]
fn requests_beyond_the_batch_wait_their_turn() {
    let (ttft, itl, max_running) = ("50".parse().unwrap(), "60000".parse().unwrap(), 2.try_into().ok());
    let server = serve(SimConfig { ttft, itl, max_running, ..quick() });
    // Two take both places, and keep them for minutes.
    let mut holders = [(); 2].map(|()| Client::connect(server.addr));
    holders.iter_mut().for_each(|client| client.send(&ask(9)));
    until(&server, "vllm:num_requests_running", 2.0);
    let mut clients = [(); 4].map(|()| Client::connect(server.addr));
    clients.iter_mut().for_each(|client| client.send(&ask(1)));
    until(&server, "vllm:num_requests_waiting", 4.0);
    assert_eq!(metrics(&server)["vllm:num_requests_running"], 2.0);
    std::thread::sleep(Duration::from_millis(20));
    let begin = Instant::now();
    drop(holders);
    for (index, client) in clients.iter_mut().enumerate() {
        assert!(client.response().unwrap().complete);
        let earliest = Duration::from_millis(50 * (index as u64 / 2 + 1));
        assert!(begin.elapsed() >= earliest, "answer {index} after {:?}", begin.elapsed());
    }
    let after = metrics(&server);
    assert_eq!(after["vllm:num_requests_running"], 0.0);
    assert_eq!(after["vllm:num_requests_waiting"], 0.0);
    // All four waited for the two that left, and two of them for the other two.
    let queued = after["vllm:request_queue_time_seconds_sum"];
    assert!(queued >= 4.0 * 0.02 + 2.0 * 0.05 - 0.001, "{queued}");
    let first_tokens = after["vllm:time_to_first_token_seconds_sum"];
    assert!(first_tokens - queued >= 4.0 * 0.05 - 0.001, "{first_tokens} with {queued} queued");
}

#[test]
fn a_client_that_gives_up_frees_its_place() {
    let (ttft, max_running) = ("60000".parse().unwrap(), 1.try_into().ok());
    let server = serve(SimConfig { ttft, max_running, ..quick() });
    let mut running = Client::connect(server.addr);
    running.send(&ask(2));
    until(&server, "vllm:num_requests_running", 1.0);
    let mut others = [(); 2].map(|()| Client::connect(server.addr));
    others.iter_mut().for_each(|client| client.send(&ask(2)));
    until(&server, "vllm:num_requests_waiting", 2.0);
    let [waiting, _next] = others;
    drop(waiting);
    until(&server, "vllm:num_requests_waiting", 1.0);
    drop(running);
    until(&server, "vllm:num_requests_waiting", 0.0);
    let page = metrics(&server);
    assert_eq!(page["vllm:request_success_total{finished_reason=\"abort\"}"], 2.0);
    assert_eq!(page["vllm:num_requests_running"], 1.0);
}

#[test]
fn a_slow_reader_gets_everything_in_the_end() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    client.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":40000"#), "slow"));
    std::thread::sleep(Duration::from_millis(300));
    let response = client.response().unwrap();
    assert!(response.complete);
    assert_eq!(response.pieces().len(), 40_000);
}
