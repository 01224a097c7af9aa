#include "node/doctor/host_facts.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "node/environment.h"

namespace troupe::detail {
namespace {

constexpr const char* kZmqName = "libzmq.so.5";  // its programs ask the loader for this name

/// Returns a function of a loaded library; null if it has none of this name.
template <class Function>
Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

void ask_zmq(HostFacts& facts) {
  const auto unload = [](void* library) { dlclose(library); };
  const std::unique_ptr<void, decltype(unload)> library(dlopen(kZmqName, RTLD_NOW | RTLD_LOCAL), unload);
  if (!library) return;
  auto* const version = function_of<void(int*, int*, int*)>(library.get(), "zmq_version");
  auto* const has = function_of<int(const char*)>(library.get(), "zmq_has");
  if (version == nullptr || has == nullptr) return;
  int major = 0;
  int minor = 0;
  int patch = 0;
  version(&major, &minor, &patch);
  facts.zmq = fmt::format("{}.{}.{}", major, minor, patch);
  facts.zmq_curve = has("curve") == 1;
}

void ask_sodium(HostFacts& facts) {
  if (sodium_init() < 0) return;
  facts.sodium = sodium_version_string();
  facts.aes = crypto_aead_aes256gcm_is_available() == 1;
}

std::uint64_t limit_of(rlim_t limit) { return limit == RLIM_INFINITY ? kNoLimit : limit; }

}  // namespace

std::uint64_t bytes_of_line(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(std::min(line.find_first_of("0123456789"), line.size()));
    std::uint64_t kilobytes = 0;
    const auto [end, failure] = std::from_chars(line.data(), line.data() + line.size(), kilobytes);
    return failure == std::errc() ? kilobytes * 1024 : 0;
  }
  return 0;
}

HostFacts gather_facts() {
  HostFacts facts;
  utsname system{};
  if (uname(&system) == 0) facts.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  facts.cores = static_cast<std::uint64_t>(available_cores());
  std::ifstream file("/proc/meminfo");
  const std::string memory{std::istreambuf_iterator<char>(file), {}};
  facts.memory = bytes_of_line(memory, "MemTotal");
  facts.memory_free = bytes_of_line(memory, "MemAvailable");
  struct statvfs shared {};
  if (statvfs("/dev/shm", &shared) == 0) {
    facts.shared = shared.f_blocks * shared.f_frsize;
    facts.shared_free = shared.f_bavail * shared.f_frsize;
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.descriptors_max = limit_of(limit.rlim_max);
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) facts.locked_max = limit_of(limit.rlim_cur);
  ask_zmq(facts);
  ask_sodium(facts);
  return facts;
}

}  // namespace troupe::detail
