//! Paths that are not inference: what they return, how they fail, and how the truth log records them.

use aiperf_sim::SimConfig;

use crate::client::{CHAT, Client, chat, quick, serve};
use crate::truth::log_of;

const HOOKS: [&str; 3] = ["/reset_prefix_cache", "/start_profile", "/stop_profile"];

#[test]
fn hooks_are_answered_when_posted_to() {
    let server = serve(quick());
    let mut client = Client::connect(server.addr);
    for hook in HOOKS {
        let response = client.post(hook, "");
        assert_eq!((response.status, response.text()), (200, ""), "{hook}");
        assert_eq!(client.get(hook).status, 405, "{hook}");
    }
}

#[test]
fn each_hook_fails_as_often_as_asked_for() {
    let server = serve(SimConfig { faults: vec!["hook-status:503,2=1".parse().unwrap()], ..quick() });
    let mut client = Client::connect(server.addr);
    for hook in HOOKS {
        let statuses: Vec<u16> = (0..4).map(|_| client.post(hook, "").status).collect();
        assert_eq!(statuses, [503, 503, 200, 200], "{hook}");
    }
    let statuses: Vec<u16> = (0..3).map(|_| client.get("/health").status).collect();
    assert_eq!(statuses, [503, 503, 200]);
    assert_eq!(client.get("/metrics").status, 200);
    assert_eq!(client.post(CHAT, &chat(r#""max_tokens":1"#)).status, 200);
}

#[test]
fn the_truth_log_shows_the_order_of_hooks_and_requests() {
    let faults = vec!["hook-status:500,1=1".parse().unwrap()];
    let lines = log_of(SimConfig { faults, ..quick() }, |client| {
        client.post("/start_profile", "");
        client.post("/start_profile", "");
        client.post(CHAT, &chat(r#""stream":true,"max_tokens":2"#));
        client.get("/v1/models");
    });
    let logged: Vec<_> = lines
        .iter()
        .map(|line| {
            let text = |member: &str| line[member].as_str().unwrap_or_default().to_owned();
            (text("method"), text("path"), line["status"].as_u64().unwrap(), text("fault"))
        })
        .collect();
    let line = |method: &str, path: &str, status, fault: &str| (method.into(), path.into(), status, fault.into());
    assert_eq!(
        logged,
        [
            line("POST", "/start_profile", 500, "hook-status"),
            line("POST", "/start_profile", 200, ""),
            line("POST", CHAT, 200, ""),
            line("GET", "/v1/models", 500, "hook-status"),
        ]
    );
    let arrivals: Vec<_> = lines.iter().map(|line| line["received_read_ns"].as_u64().unwrap()).collect();
    assert!(arrivals.is_sorted());
    let accepted = lines[0]["accepted_ns"].as_u64().unwrap();
    for line in &lines {
        assert_eq!(line["connection"], 0);
        assert_eq!(line["protocol"], "http/1.1");
        assert_eq!(line["tls"], false);
        assert_eq!(line["accepted_ns"], accepted);
        assert!(accepted <= line["received_read_ns"].as_u64().unwrap());
    }
}
