/* A stand-in for NVIDIA's management library: a machine with four GPUs, with the functions that Clarinet calls.

   cuda:0 is free, a foreign process computes on cuda:1, cuda:2 is short of memory, cuda:3 is free and behaves as with
   an older driver. Environment variables control it; where one names a GPU, it is the GPU's number:
     STANDIN_GPUS         number of GPUs (4)
     STANDIN_INIT         error of nvmlInit (0: none)
     STANDIN_FOREIGN      pid of the process that computes on GPU 1 (1); not listed once it has ended
     STANDIN_SECOND       pid of another process that computes on GPU 1 (none)
     STANDIN_DRAWS        pid of a process that draws on GPU 0 and on GPU 1 (none)
     STANDIN_UNSUPPORTED  a GPU that reports its name and UUID only
     STANDIN_LOST         a GPU that has fallen off the bus
     STANDIN_FORBIDDEN    a GPU of another batch job
     STANDIN_CONTAINER    1: no process is listed, as inside a container
     STANDIN_MIG          a GPU that is divided into two instances
     STANDIN_EXCLUSIVE    a GPU that admits one process
     STANDIN_PROHIBITED   a GPU that admits no process
     STANDIN_ECC          a GPU with two uncorrected memory errors
     STANDIN_HOT          a GPU that is slowed down by heat
     STANDIN_ENERGY       millijoules that every GPU has used (1000); GPU 2 does not count them */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6 };
enum { INSUFFICIENT_SIZE = 7, FUNCTION_NOT_FOUND = 13, GPU_IS_LOST = 15 };
enum { GPUS = 4, LARGEST_PID = 4194304 };
#define GIB (1ULL << 30)

typedef struct {
    int index, slice;
    const char *name, *uuid;
    unsigned long long total, used;
    unsigned use, degrees, milliwatts;
} Gpu;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Use;
typedef struct { unsigned version, sensor; int degrees; } Temperature;
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; } Process;

static int users = 0, inits = 0;
static Gpu gpus[GPUS] = {
    {0, 0, "NVIDIA GeForce RTX 3090", "GPU-5a01c2d4-0000-4000-8000-000000000000", 24 * GIB, GIB / 2, 3, 38, 31000},
    {1, 0, "NVIDIA GeForce RTX 3090", "GPU-5a7be9f0-1111-4000-8000-000000000001", 24 * GIB, 10 * GIB, 97, 71, 344500},
    {2, 0, "NVIDIA GeForce RTX 3090", "GPU-c3d40000-2222-4000-8000-000000000002", 24 * GIB, 23 * GIB, 0, 40, 29000},
    {3, 0, "NVIDIA A100-SXM4-80GB", "GPU-f00dfeed-3333-4000-8000-000000000003", 80 * GIB, GIB, 0, 33, 52000},
};
/* The instances belong to the GPU that STANDIN_MIG names; one that is named by its UUID needs no such GPU. */
enum { SLICES = 2 };
static Gpu slices[SLICES] = {
    {-2, 1, "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "MIG-77aa0000-4444-4000-8000-000000000004", 10 * GIB, 0, 0, 0, 0},
    {-2, 1, "NVIDIA A100-SXM4-80GB MIG 2g.20gb", "MIG-77bb0000-5555-4000-8000-000000000005", 20 * GIB, GIB, 0, 0, 0},
};

static long number(const char *variable, long otherwise) {
    const char *text = getenv(variable);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

static int check(const Gpu *gpu, int always_reported) {
    if (!users) return UNINITIALIZED;
    if (gpu->index == number("STANDIN_LOST", -1)) return GPU_IS_LOST;
    if (!always_reported && gpu->index == number("STANDIN_UNSUPPORTED", -1)) return NOT_SUPPORTED;
    return SUCCESS;
}

static int copy(const char *text, char *to, unsigned size) {
    if (strlen(text) >= size) return INSUFFICIENT_SIZE;
    strcpy(to, text);
    return SUCCESS;
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    int error = (int)number("STANDIN_INIT", SUCCESS);
    if (!error) users++, inits++;
    return error;
}

/* Not of NVIDIA: for tests. */
int standin_inits(void) { return inits; }
int standin_users(void) { return users; }

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    if (!users) return UNINITIALIZED;
    users--;
    return SUCCESS;
}

const char *nvmlErrorString(int error) {
    static char text[32];
    snprintf(text, sizeof text, "Error %d", error);
    return text;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    long wanted = number("STANDIN_GPUS", GPUS);
    *count = (unsigned)(wanted < 0 ? 0 : wanted > GPUS ? GPUS : wanted);
    return users ? SUCCESS : UNINITIALIZED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu **gpu) {
    unsigned count;
    int error = nvmlDeviceGetCount_v2(&count);
    if (error) return error;
    if (index >= count) return INVALID_ARGUMENT;
    if (index == number("STANDIN_FORBIDDEN", -1)) return NO_PERMISSION;
    *gpu = &gpus[index];
    return check(*gpu, 1);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, Gpu **gpu) {
    for (int index = 0; index < SLICES; index++) {
        *gpu = &slices[index];
        if (!strcmp(uuid, slices[index].uuid)) return check(*gpu, 1);
    }
    return NOT_FOUND;
}

int nvmlDeviceGetName(const Gpu *gpu, char *to, unsigned size) {
    int error = check(gpu, 1);
    return error ? error : copy(gpu->name, to, size);
}

int nvmlDeviceGetUUID(const Gpu *gpu, char *to, unsigned size) {
    int error = check(gpu, 1);
    return error ? error : copy(gpu->uuid, to, size);
}

int nvmlDeviceGetMemoryInfo(const Gpu *gpu, Memory *memory) {
    int error = check(gpu, 0);
    *memory = (Memory){gpu->total, gpu->total - gpu->used, gpu->used};
    return error;
}


int nvmlDeviceGetTemperature(const Gpu *gpu, unsigned sensor, unsigned *degrees) {
    int error = check(gpu, 0);
    if (!error && (gpu->slice || sensor != 0)) error = INVALID_ARGUMENT;
    *degrees = gpu->degrees;
    return error;
}

int nvmlDeviceGetTemperatureV(const Gpu *gpu, Temperature *temperature) {
    unsigned degrees = 0;
    int error = gpu->index == 3 ? FUNCTION_NOT_FOUND : nvmlDeviceGetTemperature(gpu, temperature->sensor, &degrees);
    temperature->degrees = (int)degrees;
    return error;
}

/* A pid beyond the largest stands for a process in another container. */
static int exists(long pid) {
    return pid > 0 && (pid > LARGEST_PID || kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

static long foreign(const Gpu *gpu) { return gpu->index == 1 ? number("STANDIN_FOREIGN", 1) : 0; }

/* GPU 1 is used only while the foreign process exists. */
int nvmlDeviceGetUtilizationRates(const Gpu *gpu, Use *use) {
    int error = check(gpu, 0);
    if (!error && gpu->slice) error = NOT_SUPPORTED;
    *use = (Use){gpu->index != 1 || exists(foreign(gpu)) ? gpu->use : 0, 0};
    return error;
}

static int list_processes(const long pids[2], unsigned long long memory, unsigned *count, Process *to) {
    unsigned room = *count;
    *count = 0;
    for (int index = 0; index < 2; index++) {
        if (!exists(pids[index]) || number("STANDIN_CONTAINER", 0)) continue;
        if (*count < room) to[*count] = (Process){(unsigned)pids[index], memory, ~0u, ~0u};
        ++*count;
    }
    return *count > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(const Gpu *gpu, unsigned *count, Process *to) {
    int error = check(gpu, 0);
    long pids[2] = {foreign(gpu), gpu->index == 1 ? number("STANDIN_SECOND", 0) : 0};
    return error ? error : list_processes(pids, 9 * GIB, count, to);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(const Gpu *gpu, unsigned *count, Process *to) {
    int error = check(gpu, 0);
    long pids[2] = {gpu->index == 0 || gpu->index == 1 ? number("STANDIN_DRAWS", 0) : 0, 0};
    return error ? error : list_processes(pids, ~0ULL, count, to);
}

/* Functions that a MIG instance does not have. */
static int check_whole(const Gpu *gpu) {
    int error = check(gpu, 0);
    return error ? error : gpu->slice ? NOT_SUPPORTED : SUCCESS;
}

int nvmlDeviceGetMigMode(const Gpu *gpu, unsigned *current, unsigned *pending) {
    *current = *pending = gpu->index == number("STANDIN_MIG", -1);
    return check_whole(gpu);
}

int nvmlDeviceGetMaxMigDeviceCount(const Gpu *gpu, unsigned *count) {
    *count = 7;
    return check_whole(gpu);
}

int nvmlDeviceGetMigDeviceHandleByIndex(const Gpu *gpu, unsigned index, Gpu **to) {
    if (index >= SLICES) return NOT_FOUND;
    *to = &slices[index];
    return check_whole(gpu);
}

int nvmlDeviceGetComputeMode(const Gpu *gpu, unsigned *mode) {
    *mode = gpu->index == number("STANDIN_EXCLUSIVE", -1) ? 3 : gpu->index == number("STANDIN_PROHIBITED", -1) ? 2 : 0;
    return check_whole(gpu);
}

int nvmlDeviceGetPowerUsage(const Gpu *gpu, unsigned *milliwatts) {
    *milliwatts = gpu->milliwatts;
    return check_whole(gpu);
}

int nvmlDeviceGetTotalEnergyConsumption(const Gpu *gpu, unsigned long long *millijoules) {
    *millijoules = (unsigned long long)number("STANDIN_ENERGY", 1000);
    return gpu->index == 2 ? NOT_SUPPORTED : check_whole(gpu);
}

int nvmlDeviceGetTotalEccErrors(const Gpu *gpu, unsigned type, unsigned counter, unsigned long long *count) {
    *count = gpu->index == number("STANDIN_ECC", -1) ? 2 : 0;
    return type != 1 || counter != 0 ? INVALID_ARGUMENT : check_whole(gpu);
}

int nvmlDeviceGetCurrentClocksEventReasons(const Gpu *gpu, unsigned long long *reasons) {
    *reasons = gpu->index == number("STANDIN_HOT", -1) ? 0x40 : 0x4;
    return gpu->index == 3 ? FUNCTION_NOT_FOUND : check_whole(gpu);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(const Gpu *gpu, unsigned long long *reasons) {
    *reasons = gpu->index == number("STANDIN_HOT", -1) ? 0x40 : 0x4;
    return check_whole(gpu);
}

int nvmlSystemGetDriverVersion(char *to, unsigned size) { return users ? copy("570.86.15", to, size) : UNINITIALIZED; }
