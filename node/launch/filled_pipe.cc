#include "node/launch/filled_pipe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace troupe::detail {

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw SpawnError(fmt::format("cannot make a pipe: {}", strerror(errno)));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

FileDescriptor pipe_with(std::span<const std::byte> bytes) {
  Pipe pipe = make_pipe();
  if (::write(pipe.write_end.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    throw SpawnError(fmt::format("cannot hand over the secret: {}", strerror(errno)));
  }
  return std::move(pipe.read_end);
}

FileDescriptor pipe_with(const KeyRing& ring) {
  Pipe pipe = make_pipe();
  const LockedBytes bytes = ring.to_bytes();
  // A pipe has 64 KiB, which is some 1,400 members; nobody reads it before the program runs.
  fcntl(pipe.write_end.get(), F_SETPIPE_SZ, static_cast<int>(bytes.bytes().size()));
  fcntl(pipe.write_end.get(), F_SETFL, O_NONBLOCK);
  if (const auto written = ring.to_descriptor(pipe.write_end.get()); !written) {
    throw SpawnError(written.error().message);
  }
  return std::move(pipe.read_end);
}

std::vector<std::string> environment_lines(const Variables& variables) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> exec_pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& each : strings) result.push_back(each.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace troupe::detail
