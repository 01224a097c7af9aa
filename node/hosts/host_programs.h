// The programs that the nodes of a host run: found there by path and contents, or copied there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/config/settings.h"
#include "node/file_descriptor.h"
#include "node/hosts/agent_messages.h"

namespace troupe::detail {

/// Returns the BLAKE2b-256 of a file in hexadecimal digits. Throws std::system_error if it cannot be read. Calls
/// `working` after each 16 MiB: a large file of another machine may take minutes.
[[nodiscard]] std::string hash_of_file(const std::filesystem::path& path, const std::function<void()>& working = {});

/// One thread at a time. Copies lie in the user's cache folder ($XDG_CACHE_HOME/troupe/programs, by default under
/// ~/.cache), each in a folder that has the hash of its contents as its name, so that a second run finds them.
class HostPrograms {
 public:
  /// `variables`: of the agent; PATH, HOME and XDG_CACHE_HOME are used. `working` is called now and then while a call
  /// takes long. REQUIRES: `variables` outlive it.
  explicit HostPrograms(const Variables& variables, std::function<void()> working = {})
      : variables_(variables), working_(std::move(working)) {}

  /// Removes the part of a copy that did not arrive whole.
  ~HostPrograms();
  HostPrograms(const HostPrograms&) = delete;
  HostPrograms& operator=(const HostPrograms&) = delete;

  /// Looks for `programs`. Those that are missing or have other contents, and may be copied, are in lacks(), all other
  /// problems in problems().
  void look_for(std::vector<AgentProgram> programs);

  [[nodiscard]] const std::vector<std::size_t>& lacks() const { return lacks_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  /// Takes the next piece of program `index`, which is in lacks(); an empty piece is the end. Throws
  /// AgentProtocolError for pieces that were not asked for or are not what was announced, std::system_error if they
  /// cannot be written; the part of the copy is removed then.
  void take_piece(std::size_t index, std::string_view piece);

  /// REQUIRES: lacks() and problems() are empty.
  [[nodiscard]] const std::filesystem::path& path(std::size_t index) const { return paths_.at(index); }
  [[nodiscard]] std::size_t size() const { return paths_.size(); }

 private:
  [[nodiscard]] bool is_same(const std::filesystem::path& path, const AgentProgram& program) const;
  std::filesystem::path copy_of(const AgentProgram& program) const;
  void begin_copy(std::size_t index);
  void end_copy();

  const Variables& variables_;
  const std::function<void()> working_;
  std::vector<AgentProgram> programs_;
  std::vector<std::filesystem::path> paths_;  ///< of programs_; empty: lacking
  std::vector<std::size_t> lacks_;
  std::vector<std::string> problems_;
  struct Copy {
    std::size_t index = 0;
    std::filesystem::path part;  ///< the file's name until it is complete
    FileDescriptor file;
    std::uint64_t written = 0;
  } copy_;  ///< the one under way, if its file is open
};

}  // namespace troupe::detail
