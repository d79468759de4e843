//! Every sample of every GPU as one compact JSON line, written while the run is on.

use crate::format::json::{push_f64, push_int, push_key, push_str, push_text};
use aiperf_observe::gpu::{Gpu, GpuScrape};

/// Its name in the ready marker.
pub const NAME: &str = "gpu_telemetry_jsonl";
pub(crate) const LABEL: &str = "GPU Telemetry JSONL Export";

/// Appends one line per GPU.
pub fn record_lines(out: &mut Vec<u8>, scrape: &GpuScrape) {
    for reading in &scrape.readings {
        let Gpu { index, uuid, instance, model, pci_bus_id, device, hostname, namespace, pod, vendor, .. } =
            &*reading.gpu;
        out.extend_from_slice(b"{\"gpu_index\":");
        push_int(out, *index);
        let texts = [
            ("gpu_uuid", Some(&**uuid)),
            ("gpu_instance_id", instance.as_deref()),
            ("gpu_model_name", Some(&**model)),
            ("pci_bus_id", pci_bus_id.as_deref()),
            ("device", device.as_deref()),
            ("hostname", hostname.as_deref()),
            ("namespace", namespace.as_deref()),
            ("pod_name", pod.as_deref()),
            ("platform", Some(vendor.name())),
        ];
        for (key, text) in texts {
            text.into_iter().for_each(|text| push_text(out, key, text));
        }
        push_key(out, "timestamp_ns");
        push_int(out, scrape.at.0);
        push_text(out, "telemetry_source_url", &scrape.source);
        push_key(out, "telemetry_data");
        for (at, (metric, value)) in reading.values.iter().enumerate() {
            out.push(if at == 0 { b'{' } else { b',' });
            push_str(out, &scrape.table.metric(*metric).key);
            out.push(b':');
            push_f64(out, *value);
        }
        out.extend_from_slice(b"}}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_observe::gpu::Dcgm;
    use aiperf_types::WallNs;

    #[test]
    fn a_line_has_its_keys_in_order_and_omits_absent_ones() {
        let page = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"GPU-aaaa\",pci_bus_id=\"00000000:01:00.0\",\
                    device=\"nvidia0\",modelName=\"NVIDIA H100\",Hostname=\"h1\"} 1300000\n\
                    DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-aaaa\"} 303\n";
        let dcgm = Dcgm::new(&[]);
        let scrape = GpuScrape {
            source: "http://127.0.0.1:9400/metrics".into(),
            at: WallNs(1_794_702_209_382_113_578),
            readings: dcgm.read(page).unwrap().readings,
            table: dcgm.table().clone(),
        };
        let mut line = Vec::new();
        record_lines(&mut line, &scrape);
        let expected = concat!(
            r#"{"gpu_index":0,"gpu_uuid":"GPU-aaaa","gpu_model_name":"NVIDIA H100","pci_bus_id":"00000000:01:00.0","#,
            r#""device":"nvidia0","hostname":"h1","platform":"nvidia","timestamp_ns":1794702209382113578,"#,
            r#""telemetry_source_url":"http://127.0.0.1:9400/metrics","#,
            r#""telemetry_data":{"nvidia_power_usage":303.0,"nvidia_energy_consumption":0.0013000000000000002}}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }
}
