use super::super::Cluster;
use super::*;
use aiperf_plan::redact::percent::percent_decoded;
use proptest::prelude::*;

fn access() -> Access {
    let account = tempfile::tempdir().unwrap();
    std::fs::write(account.path().join("token"), "t0ken.t0ken").unwrap();
    let get = |name: &str| (name == "KUBERNETES_SERVICE_HOST").then(|| "10.96.0.1".to_owned());
    Cluster::of_environment(get, account.path()).unwrap().access.unwrap()
}

fn named(name: &str) -> Scope {
    Scope::Namespace(name.to_owned())
}

fn page(body: &str) -> Result<(usize, Option<String>), String> {
    let mut found = Endpoints::default();
    let next = read_page(body.as_bytes(), true, &mut found)?;
    Ok((found.len(), next))
}

#[test]
fn the_configured_namespace_comes_before_the_programs_own() {
    assert_eq!(Scope::new(Some("a"), Some("b")), Ok(named("a")));
    assert_eq!(Scope::new(None, Some("b")), Ok(named("b")));
    assert_eq!(Scope::new(Some(" "), Some("b")), Ok(named("b")));
    assert_eq!(Scope::new(Some("*"), None), Ok(Scope::Everywhere));
    assert_eq!(Scope::new(None, Some("*")), Ok(Scope::Everywhere));
    assert!(Scope::new(None, None).unwrap_err().contains("AIPERF_NAMESPACE"));
}

#[test]
fn what_is_no_name_of_a_namespace_is_not_asked_for() {
    for name in ["..", "a/b", "Team", "a b", &"a".repeat(64), "ü\n"] {
        let reason = Scope::new(Some(name), None).unwrap_err();
        assert!(reason.contains("no name of a namespace") && !reason.contains('\n'), "{reason}");
    }
}

#[test]
fn paths_name_the_namespace_the_selectors_and_the_page() {
    let running = "fieldSelector=status.phase%3DRunning&limit=250";
    assert_eq!(named("team-a").path(None, None), format!("/api/v1/namespaces/team-a/pods?{running}"));
    assert_eq!(Scope::Everywhere.path(None, None), format!("/api/v1/pods?{running}"));
    assert_eq!(
        Scope::Everywhere.path(Some("app in (a, b),x!=é"), Some("ey+J/=&")),
        format!(
            "/api/v1/pods?{running}&labelSelector=app%20in%20%28a%2C%20b%29%2Cx%21%3D%C3%A9&continue=ey%2BJ%2F%3D%26"
        )
    );
}

#[test]
fn a_page_names_the_next_or_is_the_last() {
    let pod = r#"{"spec":{"containers":[{"ports":[{"containerPort":1}]}]},"status":{"podIP":"10.0.0.1"}}"#;
    for (body, read) in [
        (format!(r#"{{"kind":"PodList","metadata":{{"continue":"c"}},"items":[{pod}]}}"#), (1, Some("c".to_owned()))),
        (format!(r#"{{"metadata":{{"continue":""}},"items":[{pod},{pod}]}}"#), (1, None)),
        (r#"{"items":null}"#.to_owned(), (0, None)),
        (r#"{"metadata":7,"items":[]}"#.to_owned(), (0, None)),
        (format!(r#"{{"items":[7,null,"x",[{pod}],{pod},{}{}]}}"#, "[".repeat(500), "]".repeat(500)), (1, None)),
    ] {
        assert_eq!(page(&body), Ok(read), "{body}");
    }
}

#[test]
fn what_is_no_list_is_refused() {
    for body in ["", "<html>", "[]", "{}", r#"{"items":{}}"#, r#"{"items":[{"a":}]}"#, "\u{0}"] {
        let reason = page(body).unwrap_err();
        assert!(reason.starts_with("the API server's response is no list of pods: "), "{reason}");
    }
}

#[test]
fn a_forbidden_list_names_what_is_missing_and_how_to_give_it() {
    let body = br#"{"kind":"Status","message":"pods is forbidden: User \"system:serviceaccount:a:b\" cannot list"}"#;
    assert_eq!(
        refusal(403, body, &access(), &named("team-a")),
        "the service account lacks the verb 'list' on the resource 'pods' in namespace 'team-a' (HTTP 403: pods is \
         forbidden: User \"system:serviceaccount:a:b\" cannot list); give it {apiVersion: \
         rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: aiperf-discovery, namespace: team-a}, rules: \
         [{apiGroups: [\"\"], resources: [pods], verbs: [list]}]}, with a RoleBinding"
    );
    let everywhere = refusal(403, b"no JSON", &access(), &Scope::Everywhere);
    assert!(everywhere.contains("in all namespaces (HTTP 403); "), "{everywhere}");
    assert!(everywhere.contains("kind: ClusterRole, ") && everywhere.ends_with("with a ClusterRoleBinding"));
}

#[test]
fn other_refusals_show_their_status_and_the_text_of_the_server() {
    let refused = |status, body: &str| refusal(status, body.as_bytes(), &access(), &Scope::Everywhere);
    assert!(refused(401, r#"{"message":"Unauthorized"}"#).contains("token (HTTP 401: Unauthorized)"));
    assert!(refused(400, r#"{"message":"unable to parse"}"#).contains("unable to parse; is server_metrics.discovery"));
    assert!(refused(302, "").contains("redirects"));
    assert_eq!(refused(503, ""), "HTTP 503");
    assert_eq!(refused(500, r#"{"message":"a\n\u001b[2J"}"#), r"HTTP 500: a\n\u{1b}[2J");
}

#[test]
fn a_message_that_quotes_the_token_is_shown_without_any_of_it() {
    let message = format!("{}t0ken.t0ken", "x".repeat(LONGEST_MESSAGE - 4));
    let reason = refusal(500, format!(r#"{{"message":"{message}"}}"#).as_bytes(), &access(), &Scope::Everywhere);
    assert!(!reason.contains("t0k"), "{reason}");
}

#[test]
fn a_certificate_that_does_not_verify_is_measured_by_the_clusters_authorities() {
    let reason = "the certificate has expired; verify nothing with AIPERF_HTTP_SSL_VERIFY=false".to_owned();
    let failure_of = Failure::Certificate { address: "10.96.0.1:443".to_owned(), reason };
    let error = FetchError::Failed { failure: failure_of, media_type: None };
    let reason = failure(&error, &access(), Nanos::ZERO);
    assert!(reason.starts_with("connect to 10.96.0.1:443 failed: the certificate has expired; the cluster's"));
    assert!(reason.contains("ca.crt") && !reason.contains("AIPERF_HTTP_SSL_VERIFY"), "{reason}");
}

proptest! {
    #[test]
    fn selectors_arrive_as_they_were_given(selector in "\\PC{0,40}", token in "\\PC{0,40}") {
        let path = Scope::Everywhere.path(Some(&selector), Some(&token));
        prop_assert!(path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
        let (_, query) = path.split_once('?').unwrap();
        let values: Vec<_> = query.split('&').map(|pair| percent_decoded(pair.split_once('=').unwrap().1)).collect();
        prop_assert_eq!(values, ["status.phase=Running", "250", &selector, &token]);
    }

    #[test]
    fn no_response_is_too_odd_to_be_read(body in prop::collection::vec(any::<u8>(), 0..200), status in 100u16..600) {
        let _ = read_page(&body, true, &mut Endpoints::default());
        prop_assert!(refusal(status, &body, &access(), &Scope::Everywhere).contains(&status.to_string()));
    }
}
