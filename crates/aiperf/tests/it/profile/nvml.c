/* A stand-in for NVIDIA's libnvidia-ml.so.1: two GPUs whose values are known.
 *
 * NVML_FAILS      a call that returns "not supported"
 * NVML_LOST_AFTER readings after which the second GPU has fallen off the bus
 * NVML_GPUS       number of GPUs, two by default
 * NVML_CALLED     a file that gets a line when the library is initialised
 * LEAVE_OUT_x     (when it is compiled) a symbol that is left out */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, TOO_SMALL = 7, DRIVER_NOT_LOADED = 9, LOST = 15 };

typedef unsigned int u32;
typedef unsigned long long u64;

/* Readings begin with the utilization. */
struct gpu {
    u32 index;
    u64 energy;
    int readings;
};
static struct gpu gpus[2] = {{0, 1000000000ull, 0}, {1, 5000000000ull, 0}};

static u32 number(const char *name, u32 otherwise) {
    const char *text = getenv(name);
    return text ? (u32)atoi(text) : otherwise;
}

static int fails(const char *call, const struct gpu *gpu) {
    const char *failing = getenv("NVML_FAILS");
    if (failing && strcmp(failing, call) == 0) return NOT_SUPPORTED;
    if (gpu && gpu->index == 1 && gpu->readings > (int)number("NVML_LOST_AFTER", 1 << 30)) return LOST;
    return SUCCESS;
}
#define ASK(gpu) do { int code = fails(__func__, gpu); if (code) return code; } while (0)

int nvmlInit_v2(void) {
    const char *path = getenv("NVML_CALLED");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) { fputs("started\n", file); fclose(file); }
    return fails(__func__, NULL) ? DRIVER_NOT_LOADED : SUCCESS;
}
int nvmlShutdown(void) { return SUCCESS; }
int nvmlDeviceGetCount_v2(u32 *count) { *count = number("NVML_GPUS", 2); return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(u32 index, struct gpu **gpu) {
    *gpu = &gpus[index]; (*gpu)->readings = 0; return SUCCESS;
}
int nvmlDeviceGetUUID(struct gpu *gpu, char *uuid, u32 length) {
    ASK(gpu); snprintf(uuid, length, "GPU-%u1111111-2222", gpu->index); return SUCCESS;
}
int nvmlDeviceGetName(struct gpu *gpu, char *name, u32 length) {
    ASK(gpu); snprintf(name, length, "NVIDIA Stand-in"); return SUCCESS;
}
struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(struct gpu *gpu, struct pci *pci) {
    ASK(gpu); memset(pci, 0, sizeof *pci);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:0%u:00.0", gpu->index); return SUCCESS;
}
int nvmlDeviceGetPowerUsage(struct gpu *gpu, u32 *milliwatts) {
    ASK(gpu); *milliwatts = 300500 + 100000 * gpu->index; return SUCCESS;
}
/* 2.5 kJ a reading, in millijoules. */
int nvmlDeviceGetTotalEnergyConsumption(struct gpu *gpu, u64 *energy) {
    ASK(gpu); gpu->energy += 2500000; *energy = gpu->energy; return SUCCESS;
}
struct rates { u32 gpu, memory; };
int nvmlDeviceGetUtilizationRates(struct gpu *gpu, struct rates *rates) {
    gpu->readings++;
    ASK(gpu); rates->gpu = 91; rates->memory = 42; return SUCCESS;
}
struct memory { u64 total, free, used; };
int nvmlDeviceGetMemoryInfo(struct gpu *gpu, struct memory *memory) {
    ASK(gpu); memory->total = 80000000000ull; memory->used = 71500000000ull;
    memory->free = memory->total - memory->used; return SUCCESS;
}
int nvmlDeviceGetTemperature(struct gpu *gpu, u32 sensor, u32 *degrees) {
    ASK(gpu); *degrees = sensor == 0 ? 61 : 999; return SUCCESS;
}
int nvmlDeviceGetDecoderUtilization(struct gpu *gpu, u32 *used, u32 *period) {
    ASK(gpu); *used = 11; *period = 167000; return SUCCESS;
}
int nvmlDeviceGetEncoderUtilization(struct gpu *gpu, u32 *used, u32 *period) {
    ASK(gpu); *used = 12; *period = 167000; return SUCCESS;
}
#ifndef LEAVE_OUT_nvmlDeviceGetJpgUtilization
int nvmlDeviceGetJpgUtilization(struct gpu *gpu, u32 *used, u32 *period) {
    ASK(gpu); *used = 13; *period = 167000; return SUCCESS;
}
#endif
struct violation { u64 reference, time; };
int nvmlDeviceGetViolationStatus(struct gpu *gpu, u32 policy, struct violation *violation) {
    ASK(gpu); violation->reference = 1; violation->time = policy == 0 ? 1000ull * (u64)gpu->readings : 0; return SUCCESS;
}

struct process { u64 time; u32 pid, sm, memory, encoder, decoder, jpg, ofa; };
struct processes { u32 version, count; u64 since; struct process *processes; };
#ifndef LEAVE_OUT_nvmlDeviceGetProcessesUtilizationInfo
int nvmlDeviceGetProcessesUtilizationInfo(struct gpu *gpu, struct processes *asked) {
    ASK(gpu);
    if (asked->version != (sizeof *asked | 1u << 24)) return 25;
    if (!asked->processes || asked->count < 2) { asked->count = 2; return TOO_SMALL; }
    asked->count = 2; asked->processes[0].sm = 30; asked->processes[1].sm = 25; return SUCCESS;
}
#endif

/* A sample is the time at which it was taken, in ms. As on real GPUs, two that are close together report zero. */
static double now(void) {
    struct timespec time; clock_gettime(CLOCK_MONOTONIC, &time); return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}
struct support { u32 version, is_supported; };
int nvmlGpmQueryDeviceSupport(struct gpu *gpu, struct support *support) {
    ASK(gpu); support->is_supported = 1; return SUCCESS;
}
int nvmlGpmSampleAlloc(double **sample) { ASK(NULL); *sample = calloc(1, sizeof **sample); return SUCCESS; }
#ifndef LEAVE_OUT_nvmlGpmSampleFree
int nvmlGpmSampleFree(double *sample) { free(sample); return SUCCESS; }
#endif
int nvmlGpmSampleGet(struct gpu *gpu, double *sample) { ASK(gpu); *sample = now(); return SUCCESS; }
struct metric { u32 id, code; double value; const char *names[3]; };
struct metrics { u32 version, count; double *before, *now; struct metric metrics[1]; };
int nvmlGpmMetricsGet(struct metrics *asked) {
    ASK(NULL);
    if (asked->count != 1 || asked->metrics[0].id != 2 || *asked->now < *asked->before) return 2;
    asked->metrics[0].code = SUCCESS; asked->metrics[0].value = *asked->now - *asked->before < 99.0 ? 0.0 : 41.0;
    return SUCCESS;
}
