//! Pages of DCGM exporters: Prometheus text, one sample per GPU and field.

use super::reading::{Gpu, GpuKey, GpuReading};
use super::table::{CustomMetric, MetricId, Table};
use crate::exposition::{Incompatible, Label, PageWarning, Part, WarningCause, document, readable};
use aiperf_plan::redact::Redactor;
use aiperf_types::{GpuVendor, LogLevel};
use std::collections::HashMap;
use std::sync::Arc;

/// Fields of DCGM, the metric of each, and the factor for a value.
const FIELDS: &[(&str, &str, f64)] = &[
    ("DCGM_FI_DEV_POWER_USAGE", "nvidia_power_usage", 1.0),
    // Millijoules.
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "nvidia_energy_consumption", 1e-9),
    ("DCGM_FI_DEV_GPU_UTIL", "nvidia_gpu_utilization", 1.0),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "nvidia_memory_utilization", 1.0),
    // Mebibytes.
    ("DCGM_FI_DEV_FB_USED", "nvidia_memory_used", 1.048576e-3),
    ("DCGM_FI_DEV_GPU_TEMP", "nvidia_temperature", 1.0),
    ("DCGM_FI_DEV_ENC_UTIL", "nvidia_encoder_utilization", 1.0),
    ("DCGM_FI_DEV_DEC_UTIL", "nvidia_decoder_utilization", 1.0),
    // A share of one.
    ("DCGM_FI_PROF_SM_ACTIVE", "nvidia_sm_utilization", 100.0),
    ("DCGM_FI_DEV_XID_ERRORS", "nvidia_xid_errors", 1.0),
    // Nanoseconds.
    ("DCGM_FI_DEV_POWER_VIOLATION", "nvidia_power_violation", 1e-3),
];

const UNKNOWN_MODEL: &str = "Unknown GPU";
/// The optional suffix of counter names.
const TOTAL: &str = "_total";
/// GPUs of one page; more than the exporter of a whole cluster has.
const MOST_GPUS: usize = 4096;
/// Characters of a name to keep: each is in every line of a file.
const LONGEST_NAME: usize = 256;

/// Whether a field is collected by default.
pub(super) fn is_known(field: &str) -> bool {
    FIELDS.iter().any(|(known, ..)| *known == field)
}

/// Reads pages.
#[derive(Clone, Debug)]
pub struct Dcgm {
    table: Arc<Table>,
    fields: HashMap<String, (MetricId, f64)>,
}

/// The content of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DcgmPage {
    /// In the order of their first metric; empty if no sample is a metric of a GPU.
    pub readings: Vec<GpuReading>,
    pub warnings: Vec<PageWarning>,
}

struct Found {
    gpu: Arc<Gpu>,
    /// The order of its first metric.
    place: Option<usize>,
    values: Vec<(MetricId, f64)>,
}

impl Dcgm {
    /// Reads the known metrics, and those of the user.
    pub fn new(custom: &[CustomMetric]) -> Self {
        let table = Table::with(custom);
        let known = FIELDS.iter().map(|(field, key, factor)| ((*field).to_owned(), *key, *factor));
        let own = custom.iter().map(|row| (row.field.clone(), &*row.metric.key, row.factor));
        let fields = known.chain(own).filter_map(|(field, key, factor)| Some((field, (table.id(key)?, factor))));
        Self { fields: fields.collect(), table: Arc::new(table) }
    }

    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Reads a page. A bad line is skipped; a page with lines and not one sample is refused.
    pub fn read(&self, text: &str) -> Result<DcgmPage, Incompatible> {
        self.read_hiding(text, &Redactor::default())
    }

    /// The same for a page that may hold secrets.
    pub fn read_hiding(&self, text: &str, redactor: &Redactor) -> Result<DcgmPage, Incompatible> {
        let document = readable(document::parse(text), text, redactor)?;
        let warnings = document.bad_line_warning(redactor).into_iter().collect();
        let mut page = DcgmPage { warnings, ..DcgmPage::default() };
        let mut found = Gpus { found: Vec::new(), by_key: HashMap::new(), placed: 0, left_out: 0, redactor };
        for family in &document.families {
            for sample in family.samples.iter().filter(|sample| sample.value.is_finite()) {
                let Some(gpu) = found.gpu(document.labels(sample)) else { continue };
                let name = match sample.part {
                    // An undeclared name keeps its ending.
                    Part::Value => family.name.strip_suffix(TOTAL).unwrap_or(&family.name),
                    Part::Total => &family.name,
                    _ => continue,
                };
                if let Some((metric, factor)) = self.fields.get(name) {
                    found.note(gpu, *metric, sample.value * factor);
                }
            }
        }
        if found.left_out > 0 {
            let text = format!("it has more than {MOST_GPUS} GPUs; {} samples of others are left out", found.left_out);
            page.warnings.push(PageWarning { cause: WarningCause::TooManyGpus, level: LogLevel::Warning, text });
        }
        page.readings = found.readings();
        Ok(page)
    }
}

struct Gpus<'r> {
    redactor: &'r Redactor,
    found: Vec<Found>,
    by_key: HashMap<GpuKey, usize>,
    /// GPUs with a metric.
    placed: usize,
    left_out: usize,
}

impl Gpus<'_> {
    /// The GPU that a sample's labels name; the first description holds.
    fn gpu(&mut self, labels: &[Label<'_>]) -> Option<usize> {
        let label = |name: &str| labels.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_ref());
        // An exporter omits what it does not know, or leaves it empty.
        let text = |name: &str| label(name).map(str::trim).filter(|value| !value.is_empty()).map(Arc::<str>::from);
        let index = integer(label("gpu")?)?;
        let uuid = text("UUID");
        let gpu = Gpu {
            index,
            is_unnamed: uuid.is_none(),
            uuid: uuid.unwrap_or_else(|| format!("GPU-unknown-{index}").into()),
            instance: text("GPU_I_ID"),
            model: text("modelName").unwrap_or_else(|| UNKNOWN_MODEL.into()),
            pci_bus_id: text("pci_bus_id"),
            device: text("device"),
            hostname: text("Hostname"),
            namespace: text("namespace"),
            pod: text("pod"),
            vendor: GpuVendor::Nvidia,
        };
        let key = gpu.key();
        if let Some(known) = self.by_key.get(&key) {
            return Some(*known);
        }
        if self.found.len() >= MOST_GPUS {
            self.left_out += 1;
            return None;
        }
        self.found.push(Found { gpu: Arc::new(kept(gpu, self.redactor)), place: None, values: Vec::new() });
        self.by_key.insert(key, self.found.len() - 1);
        Some(self.found.len() - 1)
    }

    /// A metric of a GPU; of two values the later one counts.
    fn note(&mut self, gpu: usize, metric: MetricId, value: f64) {
        if !value.is_finite() {
            return;
        }
        let found = &mut self.found[gpu];
        if found.place.is_none() {
            found.place = Some(self.placed);
            self.placed += 1;
        }
        match found.values.binary_search_by_key(&metric, |(known, _)| *known) {
            Ok(at) => found.values[at].1 = value,
            Err(at) => found.values.insert(at, (metric, value)),
        }
    }

    fn readings(mut self) -> Vec<GpuReading> {
        self.found.retain(|found| found.place.is_some());
        self.found.sort_by_key(|found| found.place);
        self.found.into_iter().map(|found| GpuReading { gpu: found.gpu, values: found.values }).collect()
    }
}

/// A GPU as it is stored: without secrets, its names cut to a limit.
fn kept(gpu: Gpu, redactor: &Redactor) -> Gpu {
    let text = |text: Arc<str>| match redactor.hide_in_beginning(&text, LONGEST_NAME) {
        same if same == *text => text,
        hidden => hidden.into(),
    };
    let name = |name: Option<Arc<str>>| name.map(&text);
    Gpu {
        uuid: text(gpu.uuid),
        model: text(gpu.model),
        instance: name(gpu.instance),
        pci_bus_id: name(gpu.pci_bus_id),
        device: name(gpu.device),
        hostname: name(gpu.hostname),
        namespace: name(gpu.namespace),
        pod: name(gpu.pod),
        ..gpu
    }
}

/// A whole number as Python reads it: blanks around it, a sign, leading zeros, underscores between digits.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_spaced = !digits.starts_with('_') && !digits.ends_with('_') && !digits.contains("__");
    let is_number = is_spaced && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    is_number.then(|| text.replace('_', "").parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(text: &str) -> DcgmPage {
        Dcgm::new(&[]).read(text).unwrap()
    }

    #[test]
    fn whole_numbers_are_read_as_python_reads_them() {
        for (text, number) in [("0", 0), (" 03 ", 3), ("+1_0", 10), ("-2", -2)] {
            assert_eq!(integer(text), Some(number), "{text:?}");
        }
        for text in ["", " ", "a", "1.0", "_1", "1_", "1__0", "+", "99999999999999999999"] {
            assert_eq!(integer(text), None, "{text:?}");
        }
    }

    #[test]
    fn machines_and_parts_of_one_index_are_distinguished() {
        let sample = |labels: &str| format!("DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\",modelName=\"m\",{labels}}} 1\n");
        let text = [
            sample("UUID=\"GPU-a\",Hostname=\"one\""),
            sample("UUID=\"GPU-b\",Hostname=\"two\""),
            sample("UUID=\"GPU-b\",Hostname=\"two\",GPU_I_ID=\"7\""),
            sample("UUID=\"GPU-b\",Hostname=\"two\",GPU_I_ID=\"8\""),
            sample("Hostname=\"one\""),
            sample("Hostname=\"two\""),
        ]
        .concat();
        let readings = page(&text).readings;
        let named: Vec<(&str, Option<&str>)> =
            readings.iter().map(|reading| (&*reading.gpu.uuid, reading.gpu.instance.as_deref())).collect();
        assert_eq!(
            named,
            [
                ("GPU-a", None),
                ("GPU-b", None),
                ("GPU-b", Some("7")),
                ("GPU-b", Some("8")),
                ("GPU-unknown-0", None),
                ("GPU-unknown-0", None)
            ]
        );
    }

    #[test]
    fn names_are_kept_up_to_a_length_and_a_secret_at_its_edge_is_hidden_and_not_cut() {
        let secret = "sk-SUPERSECRETTOKEN0123456789";
        let redactor = Redactor::new([secret.to_owned()]);
        for padding in LONGEST_NAME - secret.len() - 2..LONGEST_NAME + 2 {
            let (name, more) = ("x".repeat(padding), "y".repeat(1 << 16));
            let sample = format!(
                "DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\",UUID=\"GPU-a\",modelName=\"{name}{secret}{more}\",Hostname=\"{secret}\"}} 1\n"
            );
            let bad = format!("{}{secret} {more}\n", &name[..100.min(padding) - padding % 40]);
            let page = Dcgm::new(&[]).read_hiding(&(sample + &bad), &redactor).unwrap();
            let gpu = &page.readings[0].gpu;
            assert!(gpu.model.chars().count() <= LONGEST_NAME && !gpu.model.contains("sk-"), "{}", gpu.model);
            assert!(!gpu.hostname.as_ref().unwrap().contains("sk-"));
            let warning = &page.warnings[0].text;
            assert!(warning.len() < 400 && !warning.contains("sk-"), "{warning}");
        }
    }

    #[test]
    fn a_gpu_without_names_is_named_and_costs_no_other() {
        let text = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 5\nDCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-1\",namespace=\"\"} 6\n";
        let readings = page(text).readings;
        assert_eq!((&*readings[0].gpu.uuid, &*readings[0].gpu.model), ("GPU-unknown-0", UNKNOWN_MODEL));
        assert_eq!((&*readings[1].gpu.uuid, &readings[1].gpu.namespace), ("GPU-1", &None));
    }

    #[test]
    fn a_bad_line_costs_that_line_and_a_page_of_nothing_else_is_none() {
        let read = page("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-0\"} 1\nthis is {not a metric\n");
        assert_eq!((read.readings.len(), read.warnings.len()), (1, 1));
        assert!(read.warnings[0].text.starts_with("line 2 is not in the exposition format"), "{read:?}");
        assert!(Dcgm::new(&[]).read("<html>\n</html>\n").is_err());
        assert_eq!(page(" \n\n"), DcgmPage::default());
    }

    #[test]
    fn more_gpus_than_the_limit_are_left_out_with_a_warning() {
        let line = |uuid: usize| format!("DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\",UUID=\"{uuid}\"}} 1\n");
        let read = page(&(0..MOST_GPUS + 3).map(line).collect::<String>());
        assert_eq!(read.readings.len(), MOST_GPUS);
        assert_eq!(read.warnings[0].text, "it has more than 4096 GPUs; 3 samples of others are left out");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            text in "(\\PC{0,40}\n|DCGM_FI_(DEV_GPU_UTIL|DEV_POWER_USAGE|PROF_SM_ACTIVE)(_total)?\\{gpu=\"[0-9_ ]{0,3}\",UUID=\"[a-c]{0,1}\"\\} (NaN|[0-9]{1,3}|1e308)\n|# TYPE DCGM_FI_DEV_GPU_UTIL (counter|gauge)\n){0,12}",
        ) {
            if let Ok(page) = Dcgm::new(&[]).read(&text) {
                for reading in &page.readings {
                    prop_assert!(!reading.values.is_empty());
                    prop_assert!(reading.values.iter().all(|(_, value)| value.is_finite()));
                    prop_assert!(reading.values.is_sorted_by(|a, b| a.0 < b.0));
                }
            }
        }
    }
}
