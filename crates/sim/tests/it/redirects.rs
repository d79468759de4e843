//! Responses that send the client elsewhere.

use aiperf_sim::{SimConfig, SimHandle};

use crate::client::{CHAT, Client, Response, chat, header, quick, serve};

fn redirecting(fault: &str) -> SimHandle {
    serve(SimConfig { faults: vec![fault.parse().unwrap()], ..quick() })
}

fn location(response: &Response) -> &str {
    header(&response.head, "location").unwrap()
}

fn ask() -> String {
    chat(r#""max_tokens":2"#)
}

#[test]
fn every_status_redirects_once_and_then_the_response_comes() {
    for status in [301, 302, 303, 307, 308] {
        let server = redirecting(&format!("redirect:{status}=1"));
        let mut client = Client::connect(server.addr);
        let response = client.post(CHAT, &ask());
        assert_eq!(response.status, status);
        assert!(location(&response).starts_with("/v1/chat/completions?"));
        assert_eq!(client.post(location(&response), &ask()).status, 200);
    }
}

#[test]
fn hops_follow_each_other_for_any_method() {
    let server = redirecting("redirect:302,3,absolute=1");
    let mut client = Client::connect(server.addr);
    let mut response = client.post(CHAT, &ask());
    for _ in 0..2 {
        let next = location(&response).strip_prefix(&server.url()).unwrap().to_owned();
        response = client.get(&next);
        assert_eq!(response.status, 302);
    }
    let last = location(&response).strip_prefix(&server.url()).unwrap().to_owned();
    assert_eq!(client.get(&last).status, 405, "what a GET gets there without redirects");
    assert_eq!(client.post(&last, &ask()).status, 200);
}

#[test]
fn a_loop_never_ends_and_another_origin_answers() {
    let server = redirecting("redirect:308,endless=1");
    let mut client = Client::connect(server.addr);
    let first = client.post(CHAT, &ask());
    let second = client.post(location(&first), &ask());
    assert_eq!(location(&first), location(&second));

    let other = serve(quick());
    let server = redirecting(&format!("redirect:307,{}=1", other.url()));
    let response = Client::connect(server.addr).post(CHAT, &ask());
    let path = location(&response).strip_prefix(&other.url()).unwrap();
    assert_eq!(Client::connect(other.addr).post(path, &ask()).status, 200);
}
