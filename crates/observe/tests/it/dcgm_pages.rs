//! Pages of DCGM exporters as the official client of Prometheus makes them (`scripts/check-telemetry --record`).

use aiperf_golden::kinds::telemetry::CLIENT_PAGE;
use aiperf_observe::gpu::Dcgm;
use serde_json::Value;

#[test]
fn golden_what_was_put_into_a_page_is_read_from_it() {
    let dcgm = Dcgm::new(&[]);
    CLIENT_PAGE.run(
        |_| None,
        |case| {
            let readings = dcgm.read(case["page"].as_str().unwrap()).unwrap().readings;
            let expected = case["gpus"].as_array().unwrap();
            assert_eq!(readings.len(), expected.len());
            for expected in expected {
                let text = |member: &str| expected[member].as_str().filter(|text| !text.is_empty());
                let is_it = |gpu: &aiperf_observe::gpu::Gpu| {
                    Some(&*gpu.uuid) == text("gpu_uuid") && gpu.instance.as_deref() == text("instance")
                };
                let found: Vec<_> = readings.iter().filter(|reading| is_it(&reading.gpu)).collect();
                let [reading] = found[..] else { panic!("{} readings of {expected}", found.len()) };
                assert_eq!(Some(reading.gpu.index), expected["gpu_index"].as_i64());
                assert_eq!(reading.gpu.hostname.as_deref(), text("hostname"));
                let values = expected["telemetry_data"].as_object().unwrap();
                assert_eq!(reading.values.len(), values.len());
                for (metric, value) in &reading.values {
                    let put = values.get(&*dcgm.table().metric(*metric).key).and_then(Value::as_f64).unwrap();
                    assert!((value - put).abs() <= 1e-12 * put.abs(), "{expected}: {value}, not {put}");
                }
            }
        },
    );
}
