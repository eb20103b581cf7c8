"""The GPUs, and the compilers of their vendors: clang with ROCm's device libraries, and ocloc."""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "portability"
PACKAGES = ["clang-19", "libclang-common-19-dev", "libclang-cpp19", "libllvm19", "rocm-device-libs",
            "intel-opencl-icd", "libigc1", "libigdfcl1", "libigdgmm12", "libopencl-clang14", "libllvmspirvlib14",
            "libllvm14"]
AMD = "gpu=1,group=256,local=65536,platform=AMD Accelerated Parallel Processing,vendor=Advanced Micro Devices Inc."
INTEL = "gpu=1,group=1024,local=65536,platform=Intel(R) OpenCL Graphics,vendor=Intel(R) Corporation"
FAMILIES = {"amd": AMD + ",name=AMD", "amd-no-images": AMD + ",images=0,name=AMD",
            "intel": INTEL + ",fp64=0,name=Intel", "intel-fp64": INTEL + ",name=Intel"}


@dataclass(frozen=True)
class Gpu:
    """waves: of a SIMD at most (AMD). isa: of ROCm's library that is linked, the nearest that Debian 12 has. units: a
    description of the device's matrix units for the layer."""

    name: str
    cards: str
    family: str
    waves: int = 0
    isa: str = ""
    units: str = ""


GPUS = [
    Gpu("gfx906", "Radeon VII, MI50", "amd", 10, "906"),
    Gpu("gfx90a", "MI210, MI250", "amd", 8, "90a", "name=gfx90a"),
    Gpu("gfx942", "MI300", "amd-no-images", 8, "940", "name=gfx942"),
    Gpu("gfx1030", "RX 6800, W6800", "amd", 16, "1030"),
    Gpu("gfx1100", "RX 7900, W7900", "amd", 16, "1030", "name=gfx1100"),
    Gpu("gfx1201", "RX 9070", "amd", 16, "1030", "name=gfx1201"),
    Gpu("tgllp", "Iris Xe", "intel"),
    Gpu("dg2", "Arc A770", "intel", units="matrix=8"),
    Gpu("pvc", "Data Center GPU Max", "intel-fp64", units="matrix=16"),
]


@dataclass
class Kernel:
    """A kernel as a compiler sees it. registers: vector registers (AMD), lanes of a thread (Intel). spills: registers (AMD), or
    bytes of them (Intel). occupancy: waves of a SIMD, 0: not known. fault: why it does not compile."""

    name: str
    options: str
    by_default: bool
    registers: int = 0
    spills: int = 0
    scratch: int = 0
    local: int = 0
    occupancy: int = 0
    fault: str = ""


def tools():
    """The folder with the unpacked packages, which are downloaded where they are missing."""
    root = FOLDER / "compilers"
    if not (root / "complete").exists():
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root) as folder:
            got = subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, text=True, check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if got.returncode != 0:
                print(f"skipped: the compilers could not be downloaded:\n{got.stdout}")
                sys.exit(77)
            for package in Path(folder).glob("*.deb"):
                subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        (root / "complete").touch()
    return root


def environment_of(root):
    libraries = root / "usr" / "lib" / "x86_64-linux-gnu"
    path = f"{libraries}:{libraries / 'intel-opencl'}:{root / 'usr/lib/llvm-19/lib'}"
    return dict(os.environ, LD_LIBRARY_PATH=path)


def answer_of(words, root):
    done = subprocess.run([str(word) for word in words], env=environment_of(root), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=900, check=False)
    return done.returncode, done.stdout


def amd_command(gpu, program, root, output):
    bitcode = root / "usr" / "lib" / "x86_64-linux-gnu" / "amdgcn" / "bitcode"
    wide = "off" if gpu.name.startswith("gfx1") else "on"
    names = ["opencl", "ocml", "ockl", "oclc_correctly_rounded_sqrt_off", "oclc_daz_opt_off", "oclc_finite_only_off",
             "oclc_unsafe_math_off", f"oclc_wavefrontsize64_{wide}", f"oclc_isa_version_{gpu.isa}",
             "oclc_abi_version_500"]
    linked = [word for name in names for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", bitcode / f"{name}.bc")]
    return [root / "usr/lib/llvm-19/bin/clang", "-x", "cl", *program.options, "-O3", "-w", "-target",
            "amdgcn-amd-amdhsa", f"-mcpu={gpu.name}", "-nogpulib", "-Xclang", "-finclude-default-header", *linked, "-S",
            "-o", output, program.file]


def amd_kernels(text, program):
    found = []
    waves = {}
    for part in text.split(".amdhsa_kernel ")[1:]:
        stated = re.search(r"^; Occupancy: (\d+)", part, re.M)
        waves[part.split("\n", 1)[0].strip()] = int(stated.group(1)) if stated else 0
    for part in text.split("  - .agpr_count:")[1:] if "  - .agpr_count:" in text else text.split("  - .args:")[1:]:
        def number(name, part=part):
            stated = re.search(rf"^ +\.{name}: +(\d+)", part, re.M)
            return int(stated.group(1)) if stated else 0
        name = re.search(r"^    \.name: +(\S+)", part, re.M).group(1)
        found.append(Kernel(name, " ".join(program.options), program.by_default, number("vgpr_count"),
                            number("vgpr_spill_count"), number("private_segment_fixed_size"),
                            number("group_segment_fixed_size"), waves.get(name, 0)))
    return found


def intel_kernels(binary, program):
    """Kernels of the section .ze_info, a text in YAML."""
    text = binary.read_bytes()
    begin = text.index(b"\nkernels:")
    end = text.find(b"\nkernels_misc_info:", begin)
    found = []
    for part in text[begin:end].decode("ascii", "replace").split("\n  - name: ")[1:]:
        def number(name, part=part):
            stated = re.search(rf"^      {name}: +(\d+)", part, re.M)
            return int(stated.group(1)) if stated else 0
        name = part.split("\n", 1)[0].strip()
        if name.startswith("Intel_Symbol_Table"):
            continue
        memory = {usage: int(size) for usage, size in
                  re.findall(r"usage: +(\w+)\n +size: +(\d+)", part)}
        found.append(Kernel(name, " ".join(program.options), program.by_default, number("simd_size"),
                            memory.get("spill_fill_space", 0), memory.get("private_space", 0), number("slm_size")))
    return found


def compile_one(gpu, program, root):
    with tempfile.TemporaryDirectory() as folder:
        if gpu.isa:
            output = Path(folder) / "out.s"
            code, said = answer_of(amd_command(gpu, program, root, output), root)
            if code == 0:
                return amd_kernels(output.read_text(), program)
        else:
            code, said = answer_of([root / "usr/bin/ocloc", "compile", "-file", program.file, "-device", gpu.name,
                                    "--format", "zebin", "-options", " ".join(program.options), "-out_dir", folder],
                                   root)
            binaries = list(Path(folder).glob("*.bin"))
            if code == 0 and binaries:
                return intel_kernels(binaries[0], program)
    return [Kernel(program.file.name, " ".join(program.options), program.by_default, fault=said[-2000:])]


def compile_all(gpu, programs, root):
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return [kernel for found in threads.map(lambda each: compile_one(gpu, each, root), programs) for kernel in found]
