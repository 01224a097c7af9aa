// The signals of a launcher, as a descriptor for poll(2).
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <system_error>

#include "node/file_descriptor.h"

namespace troupe::detail {

/// Receives SIGINT, SIGTERM, SIGHUP, SIGCHLD and SIGWINCH while it lives, and ignores SIGPIPE and SIGXFSZ: write(2)
/// says so, too. A SIGHUP that was ignored before, as by nohup, stays ignored. REQUIRES: one at a time, in a process
/// with one thread.
class SignalQueue {
 public:
  SignalQueue() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGWINCH}) sigaddset(&set_, signal);
    struct sigaction hang_up {};
    const bool is_known = sigaction(SIGHUP, nullptr, &hang_up) == 0;
    if (!is_known || hang_up.sa_handler != SIG_IGN) sigaddset(&set_, SIGHUP);
    sigprocmask(SIG_BLOCK, &set_, &previous_);
    // A script's background job is started with SIGINT ignored; here it must be able to end the nodes all the same.
    previous_int_ = ::signal(SIGINT, SIG_DFL);
    previous_child_ = ::signal(SIGCHLD, SIG_DFL);  // if ignored, ended nodes would be reaped unseen
    previous_pipe_ = ::signal(SIGPIPE, SIG_IGN);
    previous_size_ = ::signal(SIGXFSZ, SIG_IGN);
    descriptor_ = FileDescriptor(signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor_.is_open()) throw std::system_error(errno, std::generic_category(), "signalfd");
  }
  ~SignalQueue() {
    ::signal(SIGXFSZ, previous_size_);
    ::signal(SIGPIPE, previous_pipe_);
    ::signal(SIGCHLD, previous_child_);
    ::signal(SIGINT, previous_int_);
    sigprocmask(SIG_SETMASK, &previous_, nullptr);
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  /// Returns the next received signal; 0 if there is none.
  [[nodiscard]] int take() const {
    signalfd_siginfo info{};
    return ::read(descriptor_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)
               ? static_cast<int>(info.ssi_signo)
               : 0;
  }

 private:
  sigset_t set_{};
  sigset_t previous_{};
  void (*previous_int_)(int) = SIG_DFL;
  void (*previous_child_)(int) = SIG_DFL;
  void (*previous_pipe_)(int) = SIG_DFL;
  void (*previous_size_)(int) = SIG_DFL;
  FileDescriptor descriptor_;
};

}  // namespace troupe::detail
