// What a program inherits when it is started: descriptors that already have all bytes, and the words of exec.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "node/config/settings.h"
#include "node/file_descriptor.h"
#include "node/keys/key_ring.h"

namespace troupe::detail {

/// An existing program could not be started; the text says why.
class SpawnError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

/// Returns a pipe that is closed on exec. Throws SpawnError.
[[nodiscard]] Pipe make_pipe();

/// Returns the read end of a pipe that has `bytes`, at most 4096, and ends after them. Throws SpawnError.
[[nodiscard]] FileDescriptor pipe_with(std::span<const std::byte> bytes);

/// Returns a descriptor that has the bytes of `ring` and ends after them: the read end of a pipe or, if pipes have too
/// little room, a sealed file in memory at its begin. Throws SpawnError.
[[nodiscard]] FileDescriptor descriptor_with(const KeyRing& ring);

/// Returns the rules of the domain in which a program starts if `variables` confine it (node.confined). The descriptor
/// is not open if they do not, or if the kernel has no such domains. Throws SpawnError.
[[nodiscard]] FileDescriptor domain_of(const Variables& variables);

/// Returns "NAME=value" for each variable.
[[nodiscard]] std::vector<std::string> environment_lines(const Variables& variables);

/// Returns pointers to the characters of `strings`, which must outlive it, and a null pointer after them.
[[nodiscard]] std::vector<char*> exec_pointers(std::vector<std::string>& strings);

}  // namespace troupe::detail
