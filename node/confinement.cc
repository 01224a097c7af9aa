#include "node/confinement.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

#include "node/process_domain.h"

namespace troupe {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kOtherNumbers = 0x40000000;  // of the x32 ABI: the same calls again
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kOtherNumbers = 0x40000000;  // no call has such a number
#else
#error "the seccomp filter does not know this architecture"
#endif

constexpr std::array<std::uint32_t, 6> kRefused{SYS_execve,           SYS_execveat,          SYS_ptrace,
                                                SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd};

sock_filter load(std::size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }

/// Goes on `yes` instructions after the next one if `test` of what was loaded and `value` holds, else `no`.
sock_filter jump(std::uint16_t test, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value, yes, no);
}

/// The last but one instruction allows, the last one kills.
std::vector<sock_filter> filter() {
  constexpr std::uint8_t kLeft = kRefused.size() + 1;  // instructions after the comparisons of the number before them
  std::vector<sock_filter> program{load(offsetof(seccomp_data, arch)),
                                   jump(BPF_JEQ, kArchitecture, 0, kLeft + 2),  // 32-bit calls have other numbers
                                   load(offsetof(seccomp_data, nr)), jump(BPF_JGE, kOtherNumbers, kLeft, 0)};
  for (std::size_t i = 0; i < kRefused.size(); ++i) {
    program.push_back(jump(BPF_JEQ, kRefused[i], static_cast<std::uint8_t>(kRefused.size() - i), 0));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  return program;
}

[[noreturn]] void fail_to_confine(int error) {
  throw std::system_error(error, std::generic_category(), "cannot confine this process");
}

/// Closes the memory of other processes, which needs no call that the filter could tell from others, to this thread and
/// to those that it starts.
void close_other_memory() {
  static thread_local bool is_closed = false;  // one domain is enough, and they cannot be nested without end
  if (is_closed) return;
  const detail::FileDescriptor rules = detail::domain_rules();
  if (!rules.is_open()) {
    spdlog::info(
        "node.confined: this kernel has no Landlock (Linux 5.19 has): /proc/PID/mem of other processes of this user "
        "stays open");
  } else if (!detail::enter_domain(rules.get())) {
    fail_to_confine(errno);
  }
  is_closed = true;
}

}  // namespace

void confine_process() {
  std::vector<sock_filter> program = filter();
  const sock_fprog loaded{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail_to_confine(errno);
  close_other_memory();
  const long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &loaded);
  if (result == 0) return;
  // A positive result is a thread that has a filter of its own.
  fail_to_confine(result > 0 ? EBUSY : errno);
}

}  // namespace troupe
