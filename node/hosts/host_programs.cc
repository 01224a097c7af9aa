#include "node/hosts/host_programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "node/hosts/agent_frames.h"
#include "node/launch/node_variables.h"
#include "node/launch/program_path.h"
#include "node/write_all.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kProgramHashBytes = 32;
constexpr std::size_t kHashedAtOnce = 16 << 20;

[[noreturn]] void fail(const fs::path& path) { throw std::system_error(errno, std::generic_category(), path.string()); }

/// Makes `folder` for this user alone. An existing one must belong to this user, and nobody else may write to it.
void make_private(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) == 0) return;
  if (errno != EEXIST) fail(folder);
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) fail(folder);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 022) != 0) {
    throw std::system_error(std::make_error_code(std::errc::permission_denied),
                            folder.string() + " is not a folder to which only this user writes");
  }
}

}  // namespace

std::string hash_of_file(const fs::path& path, const std::function<void()>& working) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) fail(path);
  if (sodium_init() < 0) throw std::system_error(std::make_error_code(std::errc::not_supported), "libsodium");
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, kProgramHashBytes);
  std::array<unsigned char, 64 * 1024> buffer{};
  std::size_t since_call = 0;
  while (true) {
    const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail(path);
    if (size == 0) break;
    crypto_generichash_update(&state, buffer.data(), static_cast<unsigned long long>(size));
    since_call += static_cast<std::size_t>(size);
    if (since_call < kHashedAtOnce) continue;
    since_call = 0;
    if (working) working();
  }
  std::array<unsigned char, kProgramHashBytes> hash{};
  crypto_generichash_final(&state, hash.data(), hash.size());
  std::string text;
  for (const unsigned char byte : hash) text += fmt::format("{:02x}", byte);
  return text;
}

HostPrograms::~HostPrograms() {
  if (copy_.file.is_open()) unlink(copy_.part.c_str());
}

void HostPrograms::look_for(std::vector<AgentProgram> programs) {
  programs_ = std::move(programs);
  paths_.assign(programs_.size(), {});
  lacks_.clear();
  problems_.clear();
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    const AgentProgram& program = programs_[i];
    const bool is_bare = program.path.find('/') == std::string::npos;
    if (is_bare) {
      if (auto found = find_on_path(program.path, variables_)) paths_[i] = std::move(*found);
      else problems_.push_back(fmt::format("no program \"{}\" on PATH", program.path));
      continue;
    }
    if (is_same(program.path, program)) {
      paths_[i] = program.path;
    } else if (program.copy) {
      if (const fs::path copy = copy_of(program); is_same(copy, program)) paths_[i] = copy;
      else lacks_.push_back(i);
    } else if (!is_program(program.path)) {
      problems_.push_back(fmt::format("no program {}; copy = true in [cluster] copies it", program.path));
    } else {
      problems_.push_back(
          fmt::format("{} is another program than here: BLAKE2b {:.12}... there, {:.12}... here; copy = true in "
                      "[cluster] copies it",
                      program.path, hash_of_file(program.path, working_), program.hash));
    }
  }
}

void HostPrograms::take_piece(std::size_t index, std::string_view piece) {
  if (!copy_.file.is_open()) begin_copy(index);
  if (index != copy_.index) throw AgentProtocolError("pieces of two programs at once");
  if (piece.empty()) return end_copy();
  if (piece.size() > programs_[index].size - copy_.written) {
    throw AgentProtocolError(fmt::format("{} has more bytes than announced", programs_[index].path));
  }
  if (!detail::write_all(copy_.file.get(), std::as_bytes(std::span(piece)))) {
    const int why = errno;
    unlink(copy_.part.c_str());
    copy_.file.close();
    errno = why;
    fail(copy_.part);
  }
  copy_.written += piece.size();
}

/// Returns whether `path` has the contents that `program` says.
bool HostPrograms::is_same(const fs::path& path, const AgentProgram& program) const {
  std::error_code ignored;
  return is_program(path) && fs::file_size(path, ignored) == program.size &&
         hash_of_file(path, working_) == program.hash;
}

fs::path HostPrograms::copy_of(const AgentProgram& program) const {
  const auto value_of = [&](const char* name) {
    const auto found = variables_.find(name);
    return found == variables_.end() ? fs::path() : fs::path(found->second);
  };
  const fs::path cache = value_of("XDG_CACHE_HOME");
  const fs::path base = cache.is_absolute() ? cache : value_of("HOME") / ".cache";
  return base / "troupe" / "programs" / program.hash / fs::path(program.path).filename();
}

void HostPrograms::begin_copy(std::size_t index) {
  if (std::find(lacks_.begin(), lacks_.end(), index) == lacks_.end()) {
    throw AgentProtocolError(fmt::format("program {} was not asked for", index));
  }
  const AgentProgram& program = programs_[index];
  const bool is_hash = program.hash.size() == 2 * kProgramHashBytes &&
                       program.hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash) throw AgentProtocolError("a hash that is none");
  const fs::path target = copy_of(program);
  const fs::path base = target.parent_path().parent_path().parent_path().parent_path();
  std::error_code ignored;
  fs::create_directories(base, ignored);
  make_private(base / "troupe");
  make_private(base / "troupe" / "programs");
  make_private(target.parent_path());
  // Hosts that share this folder copy at the same time, and their processes may have equal numbers.
  copy_ = {index, target.parent_path() / (".part-" + random_cluster_id()), {}, 0};
  copy_.file = FileDescriptor(open(copy_.part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700));
  if (!copy_.file.is_open()) fail(copy_.part);
}

void HostPrograms::end_copy() {
  copy_.file.close();
  const AgentProgram& program = programs_[copy_.index];
  if (!is_same(copy_.part, program)) {
    unlink(copy_.part.c_str());
    throw AgentProtocolError(fmt::format("{} did not arrive as it is", program.path));
  }
  const fs::path target = copy_of(program);
  if (rename(copy_.part.c_str(), target.c_str()) != 0) {
    const int why = errno;
    unlink(copy_.part.c_str());
    errno = why;
    fail(target);
  }
  paths_[copy_.index] = target;
  std::erase(lacks_, copy_.index);
}

}  // namespace troupe::detail
