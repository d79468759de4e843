//! Everything that goes wrong on purpose with metrics pages, and what the truth log records of them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use aiperf_sim::{MetricsFormat, MetricsKind, Sim, SimConfig, SimHandle};
use flate2::read::GzDecoder;

use crate::client::{CHAT, Client, Response, chat, header, quick, request, serve};
use crate::metrics_pages::{path_of, total, types, values};
use crate::truth::log_of;

fn config(faults: &[&str]) -> SimConfig {
    SimConfig { metrics_faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(), ..quick() }
}

fn faulty(faults: &[&str]) -> (SimHandle, Client) {
    let server = serve(config(faults));
    let client = Client::connect(server.addr);
    (server, client)
}

fn ask(client: &mut Client, tokens: u32) -> Response {
    client.post(CHAT, &chat(&format!(r#""max_tokens":{tokens}"#)))
}

#[test]
fn a_restart_counts_from_zero_and_leaves_running_requests_alone() {
    let server = serve(SimConfig { ttft: "700".parse().unwrap(), ..config(&["restart=2"]) });
    let mut client = Client::connect(server.addr);
    ask(&mut client, 3);
    let mut running = Client::connect(server.addr);
    running.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":5"#), "r"));
    running.read_head();
    let before = client.get("/metrics");
    assert_eq!(total(before.text(), "vllm:generation_tokens_total", &[]), 3.0);
    let restarted = client.get("/metrics");
    for name in ["vllm:generation_tokens_total", "vllm:request_success_total", "vllm:e2e_request_latency_seconds_sum"] {
        assert_eq!(total(restarted.text(), name, &[]), 0.0, "{name}");
    }
    assert_eq!(total(restarted.text(), "vllm:num_requests_running", &[]), 1.0);
    for name in ["process_start_time_seconds", "vllm:prompt_tokens_created"] {
        assert!(total(restarted.text(), name, &[]) > total(before.text(), name, &[]), "{name}");
    }
    let mut rest = Vec::new();
    while running.next_chunk(&mut rest) > 0 {}
    assert_eq!(rest.windows(9).filter(|bytes| bytes == b"\"content\"").count(), 6, "a role and five tokens");
    let after = client.get("/metrics");
    assert_eq!(total(after.text(), "vllm:generation_tokens_total", &[]), 5.0);
    assert_eq!(total(after.text(), "vllm:request_success_total", &["length"]), 1.0);
}

#[test]
fn a_family_changes_its_type_from_a_page_on() {
    let (_server, mut client) =
        faulty(&["type:vllm:num_requests_running,histogram=2-", "type:vllm:kv_cache_usage_perc,counter=2"]);
    let before = client.get("/metrics");
    assert_eq!(types(before.text())["vllm:num_requests_running"], "gauge");
    let changed = client.get("/metrics");
    assert_eq!(types(changed.text())["vllm:num_requests_running"], "histogram");
    assert_eq!(total(changed.text(), "vllm:num_requests_running_bucket", &["le=\"+Inf\""]), 0.0);
    assert_eq!(types(changed.text())["vllm:kv_cache_usage_perc_total"], "counter");
    let after = client.get("/metrics");
    assert_eq!(types(after.text())["vllm:num_requests_running"], "histogram");
    assert_eq!(types(after.text())["vllm:kv_cache_usage_perc"], "gauge");
}

#[test]
fn malformed_lines_stand_between_all_the_good_ones() {
    let (_server, mut client) = faulty(&["malformed-lines=2", "malformed=3"]);
    let good = client.get("/metrics");
    let mixed = client.get("/metrics");
    let is_bad = |line: &&str| line.starts_with("broken") || line.starts_with("{label");
    assert!(mixed.text().lines().filter(is_bad).count() > 5);
    let names = |page: &str| -> Vec<String> {
        let lines = page.lines().filter(|line| !is_bad(line));
        lines
            .map(|line| line.rsplit_once(' ').unwrap().0.to_owned())
            .filter(|line| !line.contains("http_req"))
            .collect()
    };
    assert_eq!(names(mixed.text()), names(good.text()));
    let malformed = client.get("/metrics");
    assert_eq!(malformed.status, 200);
    assert!(!malformed.text().contains("vllm"));
}

#[test]
fn an_endless_page_goes_on_while_others_are_served() {
    let (server, mut client) = faulty(&["endless=1"]);
    let mut endless = TcpStream::connect(server.addr).unwrap();
    endless.write_all(b"GET /metrics HTTP/1.1\r\nHost: sim\r\n\r\n").unwrap();
    let mut bytes = vec![0; 3_000_000];
    endless.read_exact(&mut bytes).unwrap();
    assert!(bytes.windows(11).any(|window| window == b"sim_padding"));
    assert_eq!(ask(&mut client, 4).status, 200);
    assert!(client.get("/metrics").complete);
    endless.read_exact(&mut bytes).unwrap();
    // A client that goes away takes nothing with it.
    drop(endless);
    assert_eq!(ask(&mut client, 4).status, 200);
}

#[test]
fn a_huge_page_is_as_long_as_asked_for_and_well_formed() {
    for metrics_format in [MetricsFormat::Text, MetricsFormat::Openmetrics] {
        let server = serve(SimConfig { metrics_format, ..config(&["huge:2000000=1"]) });
        let mut client = Client::connect(server.addr);
        let page = client.get("/metrics");
        assert!(page.complete);
        assert!((2_000_000..2_001_000).contains(&page.body.len()), "{}", page.body.len());
        assert!(values(page.text()).len() > 40_000, "every sample has a name of its own");
        assert_eq!(page.text().ends_with("# EOF\n"), metrics_format == MetricsFormat::Openmetrics);
        assert!(client.get("/metrics").body.len() < 200_000);
    }
}

#[test]
fn a_page_may_be_late_or_slow_and_is_whole_in_the_end() {
    for fault in ["delay:80ms=1", "trickle:80ms=1"] {
        let (_server, mut client) = faulty(&[fault]);
        let begin = Instant::now();
        let page = client.get("/metrics");
        // The first piece of a page that trickles comes at once.
        assert!(begin.elapsed() >= Duration::from_millis(70), "{fault}: {:?}", begin.elapsed());
        assert!(page.complete);
        assert_eq!(types(page.text()), types(client.get("/metrics").text()), "{fault}");
    }
}

#[test]
fn pages_from_one_to_another_fail() {
    let (_server, mut client) = faulty(&["status:503=2-3", "status:404=5-"]);
    let statuses: Vec<u16> = (0..6).map(|_| client.get("/metrics").status).collect();
    assert_eq!(statuses, [200, 503, 503, 200, 404, 404]);
    assert_eq!(ask(&mut client, 1).status, 200, "requests have faults of their own");
}

#[test]
fn json_is_answered_as_json() {
    let (_server, mut client) = faulty(&["json=1"]);
    let page = client.get("/metrics");
    assert_eq!(header(&page.head, "content-type"), Some("application/json"));
    assert!(page.json().is_array());
}

#[test]
fn a_reset_page_is_not_answered() {
    let (server, mut client) = faulty(&["reset=1"]);
    client.send(b"GET /metrics HTTP/1.1\r\nHost: sim\r\n\r\n");
    assert_eq!(client.response().unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(Client::connect(server.addr).get("/metrics").status, 200);
}

#[test]
fn a_redirected_page_is_found_after_its_hops() {
    let (_server, mut client) = faulty(&["redirect:307,2=1-"]);
    let mut path = "/metrics".to_owned();
    for _ in 0..2 {
        let response = client.get(&path);
        assert_eq!(response.status, 307);
        path = header(&response.head, "location").unwrap().to_owned();
    }
    let page = client.get(&path);
    assert_eq!(page.status, 200);
    assert!(page.text().contains("vllm:num_requests_running"));
}

#[test]
fn a_compressed_page_is_declared_and_holds_the_same() {
    for faults in [&["gzip=1"][..], &["gzip=1", "trickle:30ms=1"]] {
        let (_server, mut client) = faulty(faults);
        let page = client.get("/metrics");
        assert_eq!(header(&page.head, "content-encoding"), Some("gzip"));
        let mut text = String::new();
        GzDecoder::new(&page.body[..]).read_to_string(&mut text).unwrap();
        assert_eq!(types(&text), types(client.get("/metrics").text()));
    }
}

#[test]
fn a_head_alone_is_answered_without_counting_a_page() {
    let (_server, mut client) = faulty(&["status:503=2"]);
    client.send(b"HEAD /metrics HTTP/1.1\r\nHost: sim\r\n\r\n");
    let head = client.read_head();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(header(&head, "content-length").unwrap().parse::<usize>().unwrap() > 10_000);
    client.send(b"HEAD /nowhere HTTP/1.1\r\nHost: sim\r\n\r\n");
    assert!(client.read_head().starts_with("HTTP/1.1 404"));
    assert_eq!(client.get("/metrics").status, 200, "the first page");
    client.send(b"HEAD /metrics HTTP/1.1\r\nHost: sim\r\n\r\n");
    assert!(client.read_head().starts_with("HTTP/1.1 503"), "as the page to come");
    assert_eq!(client.get("/metrics").status, 503);
}

#[test]
fn faults_that_cannot_be_are_refused() {
    for config in [
        config(&["type:vllm:no_such_family,gauge=1"]),
        SimConfig { metrics: MetricsKind::None, ..config(&["gzip=1"]) },
        SimConfig { burst: true, ..config(&["gzip=1"]) },
    ] {
        assert!(Sim::bind(config).is_err());
    }
}

#[test]
fn the_truth_log_has_the_values_of_every_page() {
    for metrics in [MetricsKind::Vllm, MetricsKind::Trtllm] {
        let mut pages = Vec::new();
        let config = SimConfig { metrics, ..config(&["restart=3", "gzip=9", "status:503=4"]) };
        let lines = log_of(config, |client| {
            for tokens in [2, 3, 4] {
                pages.push(client.get(path_of(metrics)).text().to_owned());
                ask(client, tokens);
            }
            assert_eq!(client.get(path_of(metrics)).status, 503);
        });
        let logged: Vec<_> = lines.iter().filter(|line| line["path"] == path_of(metrics)).collect();
        assert_eq!(logged.len(), 4);
        let prefix = if metrics == MetricsKind::Vllm { "vllm:" } else { "trtllm_" };
        for (index, (line, text)) in logged.iter().zip(&pages).enumerate() {
            let page = &line["page"];
            assert_eq!(page["number"], index + 1);
            for (member, name) in [
                ("running", "num_requests_running"),
                ("waiting", "num_requests_waiting"),
                ("prompt_tokens", "prompt_tokens_total"),
                ("generation_tokens", "generation_tokens_total"),
                ("requests_finished", "request_success_total"),
            ] {
                assert_eq!(page[member].as_f64().unwrap(), total(text, &format!("{prefix}{name}"), &[]), "{member}");
            }
            let made_ns = page["made_ns"].as_u64().unwrap();
            assert!(line["received_read_ns"].as_u64().unwrap() <= made_ns);
            assert!(made_ns <= line["chunks"][0][0].as_u64().unwrap());
            assert!(page["started_ns"].as_u64().unwrap() <= made_ns);
        }
        let generated = |line: usize| logged[line]["page"]["generation_tokens"].as_u64().unwrap();
        assert_eq!([generated(0), generated(1), generated(2), generated(3)], [0, 2, 0, 4]);
        assert_eq!(logged[2]["page"]["faults"][0], "restart");
        assert_eq!((&logged[3]["fault"], &logged[3]["status"]), (&"status".into(), &503.into()));
        assert_eq!(logged[3]["page"]["finished"]["length"], 1);
    }
}

#[test]
fn a_page_that_is_not_read_to_its_end_is_logged_as_unfinished() {
    let lines = log_of(config(&["delay:60s=1"]), |client| {
        client.send(b"GET /metrics HTTP/1.1\r\nHost: sim\r\n\r\n");
        std::thread::sleep(Duration::from_millis(20));
    });
    assert_eq!(lines[0]["finished"], false);
    assert_eq!(lines[0]["fault"], "delay");
    assert_eq!(lines[0]["page"]["number"], 1);
}
