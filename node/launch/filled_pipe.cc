#include "node/launch/filled_pipe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include "node/process_domain.h"

namespace troupe::detail {
namespace {

/// Asks for `size` bytes of room in a pipe, which nobody reads before the program runs. Returns how many it has: less
/// beyond /proc/sys/fs/pipe-max-size, and once this user's pipes have fs.pipe-user-pages-soft, as those of some 500
/// nodes have.
std::size_t room_for(std::size_t size, int pipe) {
  int room = size > INT_MAX ? -1 : fcntl(pipe, F_SETPIPE_SZ, static_cast<int>(size));
  if (room < 0) room = fcntl(pipe, F_GETPIPE_SZ);
  return room < 0 ? 0 : static_cast<std::size_t>(room);
}

FileDescriptor make_memory() {
  FileDescriptor memory(memfd_create("troupe-keys", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.is_open()) throw SpawnError(fmt::format("cannot make a file in memory: {}", strerror(errno)));
  return memory;
}

void write_to(int descriptor, const KeyRing& ring) {
  if (const auto written = ring.to_descriptor(descriptor); !written) throw SpawnError(written.error().message);
}

}  // namespace

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

FileDescriptor descriptor_with(const KeyRing& ring) {
  Pipe pipe = make_pipe();
  const std::size_t size = ring.to_bytes().bytes().size();
  if (room_for(size, pipe.write_end.get()) < size) {
    FileDescriptor memory = make_memory();
    write_to(memory.get(), ring);
    if (fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0 ||
        lseek(memory.get(), 0, SEEK_SET) != 0) {
      throw SpawnError(fmt::format("cannot hand over the keys: {}", strerror(errno)));
    }
    return memory;
  }
  fcntl(pipe.write_end.get(), F_SETFL, O_NONBLOCK);
  write_to(pipe.write_end.get(), ring);
  return std::move(pipe.read_end);
}

FileDescriptor domain_of(const Variables& variables) {
  const auto confined = variables.find(variable_name("node", "confined"));
  if (confined == variables.end() || confined->second != "true") return {};
  try {
    return domain_rules();
  } catch (const std::system_error& error) {
    throw SpawnError(error.what());
  }
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
