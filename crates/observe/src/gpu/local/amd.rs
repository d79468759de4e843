//! GPUs of AMD, by the files of the kernel's driver, amdgpu: no library is needed. If a file is missing or empty, its
//! value is absent.

use super::amd_table::AmdTable;
use super::{HOSTNAME, LocalError, LocalGpus, values};
use crate::gpu::reading::{Gpu, GpuReading};
use crate::gpu::table::Table;
use aiperf_types::GpuVendor;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The kernel's folder of cards.
pub const CARDS: &str = "/sys/class/drm";
/// AMD's PCI vendor number.
const VENDOR: u64 = 0x1002;
/// Bytes of any file here; the largest table is 3 KB.
const MOST_BYTES: u64 = 64 << 10;

/// All GPUs of AMD, in the order of their bus addresses.
pub struct AmdGpus {
    gpus: Vec<AmdGpu>,
}

struct AmdGpu {
    gpu: Arc<Gpu>,
    device: PathBuf,
    /// Its sensors.
    hwmon: Option<PathBuf>,
    /// The sensor of the hottest spot.
    junction: Option<PathBuf>,
}

impl AmdGpus {
    /// The GPUs whose cards are in this folder.
    pub fn open(cards: &Path) -> Result<Self, LocalError> {
        let devices = entries(cards).into_iter().filter(|path| is_card(path)).map(|card| card.join("device"));
        let mut devices: Vec<(Option<String>, PathBuf)> = devices
            .filter(|device| number(&device.join("vendor")) == Some(VENDOR))
            .map(|device| (bus_id(&device), device))
            .collect();
        devices.sort();
        let gpu = |(index, (bus_id, device)): (usize, (Option<String>, PathBuf))| AmdGpu::new(index, bus_id, device);
        let gpus: Vec<AmdGpu> = devices.into_iter().enumerate().map(gpu).collect();
        if gpus.is_empty() {
            return Err(LocalError::NoAmdGpu(cards.display().to_string()));
        }
        Ok(Self { gpus })
    }
}

impl LocalGpus for AmdGpus {
    fn gpus(&self) -> Vec<Arc<Gpu>> {
        self.gpus.iter().map(|gpu| gpu.gpu.clone()).collect()
    }

    fn read(&mut self, table: &Table) -> Vec<GpuReading> {
        let reading = |gpu: &AmdGpu| GpuReading { gpu: gpu.gpu.clone(), values: values(table, gpu.read()) };
        self.gpus.iter().map(reading).filter(|reading| !reading.values.is_empty()).collect()
    }
}

impl AmdGpu {
    fn new(index: usize, bus_id: Option<String>, device: PathBuf) -> Self {
        let uuid = text(&device.join("unique_id"));
        let gpu = Gpu {
            index: index as i64,
            is_unnamed: uuid.is_none(),
            uuid: uuid.map_or_else(|| format!("GPU-unknown-{index}"), |id| format!("GPU-{id}")).into(),
            model: text(&device.join("product_name")).map_or_else(|| "Unknown AMD GPU".into(), Into::into),
            pci_bus_id: bus_id.map(Into::into),
            device: Some(format!("amd{index}").into()),
            hostname: Some(HOSTNAME.into()),
            vendor: GpuVendor::Amd,
            ..Gpu::default()
        };
        let hwmon = entries(&device.join("hwmon")).into_iter().next();
        let junction = hwmon.as_deref().and_then(junction);
        Self { gpu: Arc::new(gpu), device, hwmon, junction }
    }

    fn read(&self) -> [(&'static str, Option<f64>); 9] {
        let table = bytes(&self.device.join("gpu_metrics")).and_then(|bytes| AmdTable::read(&bytes));
        let table = table.unwrap_or_default();
        let file = |name: &str| number(&self.device.join(name)).map(|value| value as f64);
        let sensor = |name: &str| number(&self.hwmon.as_ref()?.join(name)).map(|value| value as f64);
        // The current power or, if the driver has only a mean, that.
        let microwatts = sensor("power1_input").or_else(|| sensor("power1_average"));
        let junction = self.junction.as_deref().and_then(number).map(|millidegrees| millidegrees as f64 / 1e3);
        [
            ("amd_power", microwatts.map(|power| power / 1e6).or(table.power)),
            ("amd_energy_consumption", table.energy),
            ("amd_gfx_activity", table.gfx.or_else(|| file("gpu_busy_percent"))),
            ("amd_umc_activity", table.umc.or_else(|| file("mem_busy_percent"))),
            ("amd_mm_activity", table.mm),
            ("amd_memory_used", file("mem_info_vram_used").map(|bytes| bytes * 1e-9)),
            ("amd_temperature", junction.or(table.hotspot)),
            ("amd_ecc_uncorrectable", uncorrectable(&self.device.join("ras")).map(|errors| errors as f64)),
            ("amd_throttle_status", table.is_throttled.map(|is_throttled| f64::from(u8::from(is_throttled)))),
        ]
    }
}

/// `card0` and so on; connectors are `card0-DP-1`.
fn is_card(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("card"));
    name.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn bus_id(device: &Path) -> Option<String> {
    let content = text(&device.join("uevent"))?;
    content.lines().find_map(|line| line.strip_prefix("PCI_SLOT_NAME=")).map(str::to_owned)
}

/// The sensor named junction.
fn junction(hwmon: &Path) -> Option<PathBuf> {
    let inputs = (1..=9).map(|number| format!("temp{number}"));
    let named = |sensor: &String| text(&hwmon.join(format!("{sensor}_label"))).is_some_and(|name| name == "junction");
    inputs.into_iter().find(named).map(|sensor| hwmon.join(format!("{sensor}_input")))
}

/// Uncorrectable errors, over all blocks. Older drivers have one file per block, newer ones another.
fn uncorrectable(ras: &Path) -> Option<u64> {
    let files = entries(ras);
    let of = |is_block: fn(&str) -> bool| -> Option<u64> {
        let blocks = files.iter().filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_block));
        let errors = |path: &PathBuf| {
            let content = text(path)?;
            content.lines().find_map(|line| line.trim().strip_prefix("ue:")?.trim().parse::<u64>().ok())
        };
        blocks.filter_map(errors).reduce(u64::saturating_add)
    };
    of(|name| name.ends_with("_err_count")).or_else(|| of(|name| name.starts_with("aca_")))
}

/// The content of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The content of a file, without blanks around it; `None` if it is empty.
fn text(path: &Path) -> Option<String> {
    let text = String::from_utf8(bytes(path)?).ok()?;
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A whole number as the kernel writes it: decimal, or hexadecimal after `0x`.
fn number(path: &Path) -> Option<u64> {
    let text = text(path)?;
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tempfile::TempDir;

    /// A tree of files like the kernel's.
    struct Machine(TempDir);

    impl Machine {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
            self
        }

        fn without(self, path: &str) -> Self {
            fs::remove_file(self.0.path().join(path)).unwrap();
            self
        }

        fn read(&self) -> Vec<(Arc<Gpu>, BTreeMap<String, f64>)> {
            let table = Table::default();
            let named = |reading: GpuReading| {
                let values = reading.values.iter();
                (reading.gpu, values.map(|(id, value)| (table.metric(*id).key.to_string(), *value)).collect())
            };
            AmdGpus::open(self.0.path()).unwrap().read(&table).into_iter().map(named).collect()
        }
    }

    /// 1.3 with all numbers set.
    fn discrete() -> Vec<u8> {
        let mut table = vec![0; 120];
        table[..4].copy_from_slice(&[120, 0, 1, 3]);
        for (at, number) in [(6, 71_u16), (16, 97), (18, 45), (20, 3), (22, 290)] {
            table[at..at + 2].copy_from_slice(&number.to_le_bytes());
        }
        table[24..32].copy_from_slice(&1_000_000_000_u64.to_le_bytes());
        table
    }

    fn machine() -> Machine {
        Machine::new()
            .with("card1/device/vendor", "0x1002\n")
            .with("card1/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n")
            .with("card1/device/unique_id", "f37bab8a4d5e9de0\n")
            .with("card1/device/product_name", "AMD Instinct MI210\n")
            .with("card1/device/gpu_busy_percent", "96\n")
            .with("card1/device/mem_busy_percent", "44\n")
            .with("card1/device/mem_info_vram_used", "17163091968\n")
            .with("card1/device/gpu_metrics", discrete())
            .with("card1/device/ras/umc_err_count", "ue: 2\nce: 5\n")
            .with("card1/device/ras/gfx_err_count", "ue: 1\nce: 0\n")
            .with("card1/device/ras/features", "feature mask: 0x3\n")
            .with("card1/device/hwmon/hwmon4/power1_average", "301000000\n")
            .with("card1/device/hwmon/hwmon4/temp1_label", "edge\n")
            .with("card1/device/hwmon/hwmon4/temp1_input", "51000\n")
            .with("card1/device/hwmon/hwmon4/temp2_label", "junction\n")
            .with("card1/device/hwmon/hwmon4/temp2_input", "68000\n")
            .with("card1-DP-1/status", "connected\n")
            .with("card0/device/vendor", "0x10de\n")
            .with("renderD128/device/vendor", "0x1002\n")
    }

    #[test]
    fn a_gpu_reports_everything_in_its_files() {
        let gpus = machine().read();
        assert_eq!(gpus.len(), 1, "other makers, connectors and render nodes are none");
        let (gpu, values) = &gpus[0];
        assert_eq!((&*gpu.uuid, &*gpu.model, gpu.index), ("GPU-f37bab8a4d5e9de0", "AMD Instinct MI210", 0));
        assert_eq!((gpu.pci_bus_id.as_deref(), gpu.device.as_deref()), (Some("0000:03:00.0"), Some("amd0")));
        assert_eq!((gpu.vendor, gpu.hostname.as_deref()), (GpuVendor::Amd, Some("localhost")));
        let expected = [
            ("amd_power", 301.0),
            ("amd_energy_consumption", 1e9 * 15.259e-12),
            ("amd_gfx_activity", 97.0),
            ("amd_umc_activity", 45.0),
            ("amd_mm_activity", 3.0),
            ("amd_memory_used", 17_163_091_968.0 * 1e-9),
            ("amd_temperature", 68.0),
            ("amd_ecc_uncorrectable", 3.0),
            ("amd_throttle_status", 0.0),
        ];
        assert_eq!(values.len(), expected.len(), "{values:?}");
        for (key, value) in expected {
            assert!((values[key] - value).abs() <= value.abs() * 1e-12, "{key}: {}", values[key]);
        }
    }

    #[test]
    fn each_file_that_is_missing_costs_its_value_or_leaves_it_to_another() {
        let lost = |file: &str| -> (Vec<String>, BTreeMap<String, f64>) {
            let (whole, rest) = (machine().read().remove(0).1, machine().without(file).read().remove(0).1);
            (whole.keys().filter(|key| !rest.contains_key(*key)).cloned().collect(), rest)
        };
        let device = "card1/device";
        assert_eq!(lost(&format!("{device}/mem_info_vram_used")).0, ["amd_memory_used"]);
        let table = ["amd_energy_consumption", "amd_mm_activity", "amd_throttle_status"];
        let (missing, rest) = lost(&format!("{device}/gpu_metrics"));
        assert_eq!(
            (missing, rest["amd_gfx_activity"], rest["amd_umc_activity"]),
            (table.map(String::from).into(), 96.0, 44.0)
        );
        assert_eq!(lost(&format!("{device}/hwmon/hwmon4/power1_average")).1["amd_power"], 290.0);
        assert_eq!(lost(&format!("{device}/hwmon/hwmon4/temp2_label")).1["amd_temperature"], 71.0);
        assert_eq!(lost(&format!("{device}/gpu_busy_percent")).0, [""; 0]);
        for file in ["umc_err_count", "gfx_err_count"] {
            assert_eq!(lost(&format!("{device}/ras/{file}")).0, [""; 0]);
        }
    }

    #[test]
    fn what_it_takes_now_comes_before_a_mean() {
        let values = machine().with("card1/device/hwmon/hwmon4/power1_input", "310000000\n").read().remove(0).1;
        assert_eq!(values["amd_power"], 310.0);
    }

    #[test]
    fn errors_of_newer_drivers_are_summed_too() {
        let bare = Machine::new()
            .with("card0/device/vendor", "0x1002")
            .with("card0/device/ras/aca_umc", "ue: 4\nce: 1\nde: 0\n")
            .with("card0/device/ras/aca_gfx", "ue: 3\n");
        let (gpu, values) = bare.read().remove(0);
        assert_eq!((values.len(), values["amd_ecc_uncorrectable"]), (1, 7.0));
        assert_eq!((&*gpu.uuid, &*gpu.model, gpu.is_unnamed), ("GPU-unknown-0", "Unknown AMD GPU", true));
    }

    #[test]
    fn gpus_are_numbered_by_their_places_on_the_bus() {
        let card = |machine: Machine, number: u8, slot: &str| {
            machine
                .with(&format!("card{number}/device/vendor"), "0x1002")
                .with(&format!("card{number}/device/uevent"), format!("PCI_SLOT_NAME={slot}\n"))
                .with(&format!("card{number}/device/gpu_busy_percent"), number.to_string())
        };
        let machine = card(card(Machine::new(), 0, "0000:c3:00.0"), 1, "0000:03:00.0");
        let busy: Vec<f64> = machine.read().iter().map(|(_, values)| values["amd_gfx_activity"]).collect();
        assert_eq!(busy, [1.0, 0.0]);
    }

    #[test]
    fn without_gpus_the_error_names_what_is_missing() {
        for machine in [Machine::new(), Machine::new().with("card0/device/vendor", "0x10de")] {
            let error = AmdGpus::open(machine.0.path()).err().unwrap().to_string();
            assert!(error.contains("no AMD GPU is found in") && error.contains("modprobe amdgpu"), "{error}");
        }
        assert!(AmdGpus::open(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn files_of_nonsense_cost_their_values() {
        let machine = machine()
            .with("card1/device/mem_info_vram_used", "a lot\n")
            .with("card1/device/gpu_metrics", [0xff; 3])
            .with("card1/device/ras/umc_err_count", "nothing\n")
            .with("card1/device/ras/gfx_err_count", [0xff, 0xfe])
            .with("card1/device/product_name", "");
        let (gpu, values) = machine.read().remove(0);
        assert_eq!(&*gpu.model, "Unknown AMD GPU");
        let keys: Vec<&str> = values.keys().map(String::as_str).collect();
        assert_eq!(keys, ["amd_gfx_activity", "amd_power", "amd_temperature", "amd_umc_activity"]);
    }
}
