//! Arrivals at a rate.

use crate::load::server::{Server, never_early, paced, peak, run};

#[test]
fn a_constant_rate_sends_what_it_offers_and_no_more() {
    let server = Server::start(paced(2, 1));
    let rate = ["--request-rate", "200", "--arrival-pattern", "constant", "--request-count", "40"];
    let run = run(server.bench().with(&rate));
    let summary = run.summary();
    assert_eq!(summary["request_count"]["avg"], 40.0);
    let measured = &summary["measurement"]["sending"];
    assert_eq!((&measured["offered"], &measured["missed"], &measured["sent"]), (&40.into(), &0.into(), &40.into()));
    // The first one after one interval, the last one after forty.
    never_early(&run, &server.arrivals(), |number| (number + 1) as f64 / 200.0);
}

#[test]
fn a_rate_alone_is_poisson_and_a_smoothness_alone_is_gamma() {
    for (more, kind) in [(&[][..], "poisson"), (&["--arrival-smoothness", "3"][..], "gamma")] {
        let server = Server::start(paced(2, 1));
        let run = run(server.bench().with(&["--request-rate", "400", "--request-count", "60"]).with(more));
        let phase = run.summary()["input_config"]["phases"][0].clone();
        assert_eq!(phase["type"], kind);
        assert_eq!(server.arrivals().len(), 60);
    }
}

#[test]
fn a_tick_without_a_free_slot_is_dropped_and_counted() {
    let server = Server::start(paced(60, 1));
    let rate = ["--request-rate", "200", "--arrival-pattern", "constant", "--concurrency", "2"];
    let run = run(server.bench().with(&rate).with(&["--benchmark-duration", "2"]));
    let (summary, output) = (run.summary(), run.stderr() + &run.stdout());
    let measured = &summary["measurement"]["sending"];
    let count = |name: &str| measured[name].as_u64().unwrap();
    assert!(count("missed") > count("sent"), "{measured}");
    // On a busy machine, some ticks come due and the run is over before its client gets a core.
    assert_eq!(count("offered"), count("missed") + count("sent") + count("unsent_held"), "{measured}");
    assert!(output.contains("no free slot"), "{output}");
    assert!(peak(&server.arrivals(), |arrival| arrival.end) <= 2);
}

#[test]
fn a_ramped_rate_sends_its_integral() {
    let server = Server::start(paced(2, 1));
    let rate = ["--request-rate", "200", "--request-rate-ramp-duration", "1", "--arrival-pattern", "constant"];
    let run = run(server.bench().with(&rate).with(&["--request-count", "109"]));
    let arrivals = server.arrivals();
    assert_eq!(arrivals.len(), 109);
    // 20 req/s at the start, 200 after a second: n requests are due when 20 t + 90 t^2 = n.
    never_early(&run, &arrivals, |number| ((400.0 + 360.0 * (number + 1) as f64).sqrt() - 20.0) / 180.0);
}

#[test]
fn a_series_of_rates_is_followed() {
    let server = Server::start(paced(2, 1));
    let series = server
        .write("series.json", r#"[{"time_s": 0, "qps": 100}, {"time_s": 0.5, "qps": 300}, {"time_s": 1, "qps": 100}]"#);
    let rate = ["--request-rate-series", &series, "--arrival-pattern", "constant", "--request-count", "198"];
    let run = run(server.bench().with(&rate));
    let arrivals = server.arrivals();
    assert_eq!(arrivals.len(), 198);
    // 100 req/s at the start, 300 after half a second: there n = 100 t + 200 t^2. The second half mirrors the first.
    let climbing = |n: f64| (-100.0 + (10_000.0 + 800.0 * n).sqrt()) / 400.0;
    never_early(&run, &arrivals, |number| match (number + 1) as f64 {
        n if n <= 100.0 => climbing(n),
        n => 1.0 - climbing(200.0 - n),
    });
}
