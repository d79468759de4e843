//! GPUs of NVIDIA by NVML, the library of their driver. It is loaded on request. If one of its calls is missing or
//! fails, its value is absent.

use super::{HOSTNAME, LocalError, LocalGpus, values};
use crate::gpu::reading::{Gpu, GpuReading};
use crate::gpu::table::Table;
use aiperf_transport::clock::mono_now;
use aiperf_types::{GpuVendor, MonoNs, Nanos};
use nvml_wrapper::enum_wrappers::device::{PerformancePolicy, TemperatureSensor};
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use nvml_wrapper::{Device, Nvml};
use std::sync::{Arc, Mutex, PoisonError};

/// Two samples of a GPU's parts that are closer together show zero, whatever the GPU did.
const SAMPLES_APART: Nanos = Nanos(100_000_000);

/// The library once it is loaded. It stays until the process ends: starting it again can take a driver seconds.
static LIBRARY: Mutex<Option<&'static Nvml>> = Mutex::new(None);

fn library() -> Result<&'static Nvml, LocalError> {
    let mut place = LIBRARY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(nvml) = *place {
        return Ok(nvml);
    }
    let nvml: &'static Nvml = Box::leak(Box::new(Nvml::init().map_err(|error| match error {
        NvmlError::LibloadingError(error) => LocalError::NoLibrary(error.to_string()),
        error @ NvmlError::FailedToLoadSymbol(_) => LocalError::NoLibrary(error.to_string()),
        error => LocalError::NoDriver(error.to_string()),
    })?));
    *place = Some(nvml);
    Ok(nvml)
}

/// All GPUs that the driver shows.
pub struct NvmlGpus {
    gpus: Vec<NvmlGpu>,
}

struct NvmlGpu {
    gpu: Arc<Gpu>,
    device: Device<'static>,
    nvml: &'static Nvml,
    /// The sample before, of GPUs that sample their parts themselves.
    parts: Option<Parts>,
}

struct Parts {
    taken: MonoNs,
    sample: GpmSample<'static>,
}

impl NvmlGpus {
    pub fn open() -> Result<Self, LocalError> {
        let nvml = library()?;
        let count = nvml.device_count().map_err(|error| LocalError::NoDriver(error.to_string()))?;
        let gpus: Vec<NvmlGpu> = (0..count).filter_map(|index| NvmlGpu::open(nvml, index)).collect();
        if gpus.is_empty() {
            return Err(LocalError::NoNvidiaGpu);
        }
        Ok(Self { gpus })
    }
}

impl LocalGpus for NvmlGpus {
    fn gpus(&self) -> Vec<Arc<Gpu>> {
        self.gpus.iter().map(|gpu| gpu.gpu.clone()).collect()
    }

    fn read(&mut self, table: &Table) -> Vec<GpuReading> {
        let readings =
            self.gpus.iter_mut().map(|gpu| GpuReading { gpu: gpu.gpu.clone(), values: values(table, gpu.read()) });
        readings.filter(|reading| !reading.values.is_empty()).collect()
    }
}

impl NvmlGpu {
    /// A GPU that cannot be opened is left out.
    fn open(nvml: &'static Nvml, index: u32) -> Option<Self> {
        let device = nvml.device_by_index(index).ok()?;
        let uuid = device.uuid().ok();
        let gpu = Gpu {
            index: index.into(),
            is_unnamed: uuid.is_none(),
            uuid: uuid.unwrap_or_else(|| format!("GPU-unknown-{index}")).into(),
            model: device.name().map_or_else(|_| "Unknown GPU".into(), Into::into),
            pci_bus_id: device.pci_info().ok().map(|info| info.bus_id.into()),
            device: Some(format!("nvidia{index}").into()),
            hostname: Some(HOSTNAME.into()),
            vendor: GpuVendor::Nvidia,
            ..Gpu::default()
        };
        let parts = samples_parts(nvml, &device).then(|| Parts::take(&device)).flatten();
        Some(Self { gpu: Arc::new(gpu), device, nvml, parts })
    }

    fn read(&mut self) -> [(&'static str, Option<f64>); 11] {
        let rates = self.device.utilization_rates().ok();
        let sm = self.sm_utilization();
        let device = &self.device;
        let violation = device.violation_status(PerformancePolicy::Power).ok();
        [
            ("nvidia_power_usage", device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) * 1e-3)),
            ("nvidia_energy_consumption", device.total_energy_consumption().ok().map(|mj| mj as f64 * 1e-9)),
            ("nvidia_gpu_utilization", rates.as_ref().map(|rates| f64::from(rates.gpu))),
            ("nvidia_memory_utilization", rates.as_ref().map(|rates| f64::from(rates.memory))),
            ("nvidia_memory_used", raw::memory_used(self.nvml, device).map(|bytes| bytes as f64 * 1e-9)),
            ("nvidia_temperature", device.temperature(TemperatureSensor::Gpu).ok().map(f64::from)),
            ("nvidia_sm_utilization", sm.map(|percent| percent.min(100.0))),
            ("nvidia_decoder_utilization", device.decoder_utilization().ok().map(|used| f64::from(used.utilization))),
            ("nvidia_encoder_utilization", device.encoder_utilization().ok().map(|used| f64::from(used.utilization))),
            ("nvidia_jpg_utilization", raw::jpg_utilization(self.nvml, device).map(f64::from)),
            ("nvidia_power_violation", violation.map(|status| status.violation_time as f64 * 1e-3)),
        ]
    }

    /// The GPU's own samples of its multiprocessors since the sample before; otherwise the reported use by its
    /// processes.
    fn sm_utilization(&mut self) -> Option<f64> {
        if self.parts.as_ref().is_some_and(Parts::is_fresh) {
            return None;
        }
        self.sampled_utilization().or_else(|| raw::utilization_of_processes(self.nvml, &self.device))
    }

    fn sampled_utilization(&mut self) -> Option<f64> {
        let before = self.parts.as_ref()?;
        let now = Parts::take(&self.device)?;
        let metrics = gpm_metrics_get(self.nvml, &before.sample, &now.sample, &[GpmMetricId::SmUtil]);
        self.parts = Some(now);
        metrics.ok()?.into_iter().next()?.ok().map(|metric| metric.value).filter(|percent| percent.is_finite())
    }
}

impl Parts {
    fn take(device: &Device<'static>) -> Option<Self> {
        Some(Self { sample: device.gpm_sample().ok()?, taken: mono_now() })
    }

    /// Whether it is too early for the next one.
    fn is_fresh(&self) -> bool {
        mono_now().since(self.taken) < SAMPLES_APART
    }
}

/// Whether the GPU samples its parts itself. This needs the call that frees samples.
fn samples_parts(nvml: &Nvml, device: &Device<'_>) -> bool {
    nvml.lib().nvmlGpmSampleFree.is_ok() && device.gpm_support().unwrap_or(false)
}

/// Calls that the wrapper does not have.
mod raw {
    #![expect(unsafe_code, reason = "NVML is a C library, and nvml-wrapper leaves these calls out")]

    use nvml_wrapper::{Device, Nvml};
    use nvml_wrapper_sys::bindings::{
        nvmlMemory_t, nvmlProcessUtilizationInfo_v1_t, nvmlProcessesUtilizationInfo_v1_t,
        nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE as TOO_SMALL, nvmlReturn_enum_NVML_SUCCESS as SUCCESS,
    };
    use std::mem::{size_of, zeroed};
    use std::os::raw::c_uint;

    /// The most processes of a GPU to request.
    const MOST_PROCESSES: c_uint = 1 << 16;
    /// Structures hold their size and their version.
    const PROCESSES_VERSION: c_uint = size_of::<nvmlProcessesUtilizationInfo_v1_t>() as c_uint | 1 << 24;

    /// Bytes in use, including those that the driver keeps for itself: the wrapper's own call excludes these.
    pub(super) fn memory_used(nvml: &Nvml, device: &Device<'_>) -> Option<u64> {
        let call = nvml.lib().nvmlDeviceGetMemoryInfo.as_ref().ok()?;
        // SAFETY: the device is the library's own, and the structure is as large as the call fills.
        unsafe {
            let mut memory: nvmlMemory_t = zeroed();
            (call(device.handle(), &raw mut memory) == SUCCESS).then_some(memory.used)
        }
    }

    pub(super) fn jpg_utilization(nvml: &Nvml, device: &Device<'_>) -> Option<u32> {
        let call = nvml.lib().nvmlDeviceGetJpgUtilization.as_ref().ok()?;
        let (mut percent, mut period): (c_uint, c_uint) = (0, 0);
        // SAFETY: the device is the library's own, and both places outlive the call.
        let code = unsafe { call(device.handle(), &raw mut percent, &raw mut period) };
        (code == SUCCESS).then_some(percent)
    }

    /// The sum over processes, zero where there is none.
    pub(super) fn utilization_of_processes(nvml: &Nvml, device: &Device<'_>) -> Option<f64> {
        let call = nvml.lib().nvmlDeviceGetProcessesUtilizationInfo.as_ref().ok()?;
        // SAFETY: numbers and a pointer, for which zero is a value.
        let mut asked: nvmlProcessesUtilizationInfo_v1_t = unsafe { zeroed() };
        asked.version = PROCESSES_VERSION;
        // SAFETY: the device is the library's own; without an array the call only counts.
        let code = unsafe { call(device.handle(), &raw mut asked) };
        if code == SUCCESS && asked.processSamplesCount == 0 {
            return Some(0.0);
        }
        if code != TOO_SMALL || asked.processSamplesCount > MOST_PROCESSES {
            return None;
        }
        let room = asked.processSamplesCount as usize;
        // SAFETY: numbers alone, for which zero is a value.
        let mut processes: Vec<nvmlProcessUtilizationInfo_v1_t> = vec![unsafe { zeroed() }; room];
        asked.procUtilArray = processes.as_mut_ptr();
        // SAFETY: the array has as many elements as the structure states, and stays where it is until the call is over.
        let code = unsafe { call(device.handle(), &raw mut asked) };
        let samples = processes.iter().take(asked.processSamplesCount as usize);
        (code == SUCCESS).then(|| samples.map(|process| f64::from(process.smUtil)).sum())
    }
}
