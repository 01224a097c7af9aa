// What a piece of a test writes to standard output: the log, for one.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace troupe::testing {

/// Returns the first 4 KiB of what `action` writes to standard output, where a process's log goes at first.
template <class Action>
std::string output_of(Action action) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  if (!file) throw std::runtime_error("no temporary file");
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(::fileno(file.get()), STDOUT_FILENO);
  action();
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  std::rewind(file.get());
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

}  // namespace troupe::testing
