//! Serving over a Unix domain socket.

use std::os::unix::net::UnixListener;

use aiperf_sim::{Sim, SimConfig, SimError};

use crate::client::{CHAT, Client, chat, quick, serve};

#[test]
fn a_unix_socket_serves_beside_the_port_and_goes_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sim.sock");
    let server = serve(SimConfig { unix_socket: Some(path.clone()), ..quick() });
    let mut client = Client::connect_unix(&path);
    for body in [r#""stream":true,"max_tokens":3"#, r#""max_tokens":3"#] {
        assert!(client.post(CHAT, &chat(body)).complete);
    }
    assert!(Client::connect(server.addr).post(CHAT, &chat(r#""max_tokens":3"#)).complete);
    server.stop().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_socket_left_behind_is_replaced_and_one_in_use_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sim.sock");
    drop(UnixListener::bind(&path).unwrap());
    let config = SimConfig { unix_socket: Some(path.clone()), ..quick() };
    let server = serve(config.clone());
    assert_eq!(Client::connect_unix(&path).get("/health").status, 200);
    let Err(SimError::UnixSocket { .. }) = Sim::bind(config) else { panic!("the path is taken") };
    assert_eq!(Client::connect_unix(&path).get("/health").status, 200);
    server.stop().unwrap();
}
