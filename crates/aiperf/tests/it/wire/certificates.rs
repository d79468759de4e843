//! Certificates that fail verification, and the files of trusted ones.

use crate::bench::{Bench, quick};
use crate::wire::kinds::{HTTP1_TLS, KINDS, Server, error_types, run};
use aiperf_sim::{Certificate, SimConfig, TlsOptions};

const ARGS: [&str; 3] = ["--streaming", "--request-count", "2"];

fn with(certificate: Certificate) -> SimConfig {
    SimConfig { tls: Some(TlsOptions { certificate, ..TlsOptions::default() }), ..quick() }
}

#[test]
fn a_certificate_that_fails_verification_is_reported_with_the_failed_check_and_a_suggestion() {
    for (certificate, why, way_out) in [
        (Certificate::Expired, "the certificate has expired", "renew it"),
        (Certificate::WrongHost, "the certificate is for another host name", "use the name it was made for"),
        (Certificate::UnknownCa, "signed by an authority that is not trusted", "SSL_CERT_FILE=<its PEM file>"),
    ] {
        for kind in KINDS.into_iter().filter(|kind| kind.tls) {
            let server = Server::start(kind, with(certificate));
            let refused = run(server.bench().with(&ARGS));
            assert_eq!(refused.code(), Some(1), "{}", refused.stderr());
            assert_eq!(error_types(&refused), ["ClientConnectorCertificateError"; 2], "{certificate:?}");
            let message = refused.records()[0]["error"]["message"].as_str().unwrap().to_owned();
            for words in ["connect to 127.0.0.1:", why, way_out, "AIPERF_HTTP_SSL_VERIFY=false"] {
                assert!(message.contains(words), "{words}: {message}");
            }
            let trusting = run(server.bench().with(&ARGS).env("AIPERF_HTTP_SSL_VERIFY", "false"));
            assert_eq!((trusting.code(), trusting.records().len()), (Some(0), 2), "{}", trusting.stderr());
            assert_eq!(server.stop().len(), 2, "nothing is sent to a server that is not trusted");
        }
    }
}

#[test]
fn certificates_that_cannot_be_read_are_refused_before_anything_is_sent() {
    let server = Server::start(HTTP1_TLS, with(Certificate::Good));
    let empty = server.write("empty.pem", "no certificate");
    for (file, why) in [("nowhere/ca.pem", "nowhere/ca.pem cannot be read"), (&empty, "empty.pem")] {
        let run = run(Bench::of(&server.url()).with(&ARGS).env("SSL_CERT_FILE", file));
        assert_eq!(run.code(), Some(2), "{}", run.stderr());
        assert!(run.stderr().contains(why) && run.stderr().contains("SSL_CERT_FILE"), "{}", run.stderr());
    }
    assert_eq!(server.stop().len(), 0);
}
