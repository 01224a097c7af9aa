// What a piece of a test writes to standard output or error: the log, for one.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace troupe::testing {

/// Returns the first 4 KiB of what `action` writes to standard output and standard error. A process's log goes to one
/// of them.
template <class Action>
std::string output_of(Action action) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  if (!file) throw std::runtime_error("no temporary file");
  const auto redirect = [](const std::array<int, 2>& to) {
    std::fflush(nullptr);
    ::dup2(to[0], STDOUT_FILENO);
    ::dup2(to[1], STDERR_FILENO);
  };
  const std::array<int, 2> before{::dup(STDOUT_FILENO), ::dup(STDERR_FILENO)};
  redirect({::fileno(file.get()), ::fileno(file.get())});
  action();
  redirect(before);
  for (const int descriptor : before) ::close(descriptor);
  std::rewind(file.get());
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

}  // namespace troupe::testing
