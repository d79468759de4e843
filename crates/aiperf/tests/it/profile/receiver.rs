//! A receiver of OTLP metrics. It keeps what it accepts, and refuses, hangs or closes as a test needs.

use aiperf_report::otlp::messages::{
    AnyValue, Data, ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse, KeyValue,
    Metric, Number, Value,
};
use flate2::read::GzDecoder;
use prost::Message;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The reaction of a receiver to an export.
#[derive(Clone, Copy)]
pub(crate) enum Reply {
    Take,
    /// Accepts all but some points.
    TakeSome,
    /// A status line, and header fields with their line ends.
    Refuse(&'static str, &'static str),
    /// Accepts it, with a body that is not a valid message.
    Garble,
    /// Reads it and never responds.
    Hang,
}

/// An accepted export.
pub(crate) struct Export {
    pub(crate) head: String,
    pub(crate) message: ExportMetricsServiceRequest,
}

#[derive(Default)]
struct ReceivedExports {
    calls: usize,
    taken: Vec<Arc<Export>>,
}

/// The receiver, which listens until the test is over.
pub(crate) struct Receiver {
    pub(crate) address: String,
    kept: Arc<Mutex<ReceivedExports>>,
}

impl Receiver {
    pub(crate) fn start(reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), None, reply)
    }

    pub(crate) fn on(
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
        reply: impl Fn(usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap().to_string();
        let kept: Arc<Mutex<ReceivedExports>> = Arc::default();
        let (keeping, reply) = (kept.clone(), Arc::new(reply));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, reply, tls) = (keeping.clone(), reply.clone(), tls.clone());
                std::thread::spawn(move || match tls {
                    None => respond(stream, &kept, &*reply),
                    Some(config) => {
                        respond(StreamOwned::new(ServerConnection::new(config).unwrap(), stream), &kept, &*reply);
                    }
                });
            }
        });
        Self { address, kept }
    }

    /// Every accepted export, in the order in which they were sent: on a busy machine the threads of two connections
    /// may be served in any order.
    pub(crate) fn taken(&self) -> Vec<Arc<Export>> {
        let mut taken = self.kept.lock().unwrap().taken.clone();
        taken.sort_by_key(|export| export.time());
        taken
    }

    /// The number of calls.
    pub(crate) fn calls(&self) -> usize {
        self.kept.lock().unwrap().calls
    }
}

fn respond(stream: impl Read + Write, kept: &Mutex<ReceivedExports>, reply: &dyn Fn(usize) -> Reply) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        head.push_str(&std::mem::take(&mut line));
    }
    let field = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let Some(length) = field("content-length").and_then(|length| length.parse().ok()) else { return };
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    if field("content-encoding").as_deref() == Some("gzip") {
        let mut plain = Vec::new();
        GzDecoder::new(body.as_slice()).read_to_end(&mut plain).unwrap();
        body = plain;
    }
    let reply = {
        let mut kept = kept.lock().unwrap();
        let reply = reply(kept.calls);
        kept.calls += 1;
        if matches!(reply, Reply::Take | Reply::TakeSome) {
            let message = ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
            kept.taken.push(Arc::new(Export { head: head.clone(), message }));
        }
        reply
    };
    let (status, fields, body) = match reply {
        Reply::Take | Reply::Garble => ("200 OK", "", ExportMetricsServiceResponse::default()),
        Reply::TakeSome => {
            let partial =
                ExportMetricsPartialSuccess { rejected_data_points: 3, error_message: "too many labels".to_owned() };
            ("200 OK", "", ExportMetricsServiceResponse { partial_success: Some(partial) })
        }
        Reply::Refuse(status, fields) => (status, fields, ExportMetricsServiceResponse::default()),
        Reply::Hang => {
            std::thread::sleep(Duration::from_secs(120));
            return;
        }
    };
    let body = if matches!(reply, Reply::Garble) { b"{}".to_vec() } else { body.encode_to_vec() };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/x-protobuf\r\n{fields}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let stream = reader.get_mut();
    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).and_then(|()| stream.flush());
}

/// A point in the form that tests use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) start: u64,
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) buckets: Vec<u64>,
}

impl Export {
    pub(crate) fn metrics(&self) -> &[Metric] {
        &self.message.resource_metrics[0].scope_metrics[0].metrics
    }

    /// The instant of its values.
    fn time(&self) -> u64 {
        let of = |metric: &Metric| match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => sum.data_points[0].time_unix_nano,
            Data::Histogram(histogram) => histogram.data_points[0].time_unix_nano,
        };
        of(&self.metrics()[0])
    }

    /// The points of every metric by its name; the value of a sum is the sum.
    pub(crate) fn points(&self) -> BTreeMap<String, Vec<Point>> {
        let of = |metric: &Metric| match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => {
                assert_eq!(sum.aggregation_temporality, 2, "cumulative");
                let point = |point: &aiperf_report::otlp::messages::NumberDataPoint| Point {
                    attributes: attributes(&point.attributes),
                    start: point.start_time_unix_nano,
                    count: 0,
                    sum: match point.value {
                        Some(Number::Double(value)) => value,
                        other => panic!("{other:?}"),
                    },
                    buckets: Vec::new(),
                };
                sum.data_points.iter().map(point).collect()
            }
            Data::Histogram(histogram) => {
                assert_eq!(histogram.aggregation_temporality, 2, "cumulative");
                let points = histogram.data_points.iter();
                let point = |point: &aiperf_report::otlp::messages::HistogramDataPoint| {
                    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count, "{}", metric.name);
                    assert!(
                        point.min.unwrap() <= point.max.unwrap() && point.time_unix_nano > point.start_time_unix_nano
                    );
                    Point {
                        attributes: attributes(&point.attributes),
                        start: point.start_time_unix_nano,
                        count: point.count,
                        sum: point.sum.unwrap(),
                        buckets: point.bucket_counts.clone(),
                    }
                };
                points.map(point).collect()
            }
        };
        let points: BTreeMap<String, Vec<Point>> =
            self.metrics().iter().map(|metric| (metric.name.clone(), of(metric))).collect();
        assert_eq!(points.len(), self.metrics().len(), "each name once");
        for (name, points) in &points {
            let unlike = points.iter().map(|point| &point.attributes).collect::<std::collections::BTreeSet<_>>();
            assert_eq!(unlike.len(), points.len(), "{name}: each set of attributes once");
        }
        points
    }

    pub(crate) fn resource(&self) -> BTreeMap<String, String> {
        attributes(&self.message.resource_metrics[0].resource.as_ref().unwrap().attributes)
    }
}

fn attributes(list: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|value| value.value.as_ref()).unwrap() {
        Value::Text(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
    };
    list.iter().map(|attribute| (attribute.key.clone(), text(&attribute.value))).collect()
}
