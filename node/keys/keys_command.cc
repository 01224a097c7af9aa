#include "node/keys/keys_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "node/keys/key_directory.h"
#include "node/keys/key_files.h"
#include "node/keys/word_lines.h"
#include "node/node_name.h"

namespace troupe {
namespace {

using detail::hex_of;

std::optional<std::chrono::sys_days> last_day(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::chrono::sys_days day;
  try {
    day = parse_date(text);
  } catch (const std::invalid_argument& error) {
    throw KeysError(fmt::format("--until {}: {}", text, error.what()));
  }
  if (MemberList::Member{{}, {}, day}.has_expired(std::chrono::system_clock::now())) {
    throw KeysError(fmt::format("--until {}: this day is over", text));
  }
  return day;
}

/// `text`: names that are separated by commas or, as `calls` of a role has them, by blanks.
MemberList::Calls calls_of(const std::string& text) {
  if (text == "*") return std::nullopt;
  std::string blanks = text;
  std::ranges::replace(blanks, ',', ' ');
  std::istringstream in(blanks);
  const std::vector<std::string> functions{std::istream_iterator<std::string>(in), {}};
  try {
    return parse_calls(fmt::format("{}", fmt::join(functions, ",")));
  } catch (const std::invalid_argument& error) {
    throw KeysError(fmt::format("--calls {}: {}", text, error.what()));
  }
}

/// Sets what `options` name, and leaves the rest. REQUIRES: `owns` and `reads` are empty, "-" or "*".
void set_grants(MemberList::Grants& grants, const KeysCommandOptions& options) {
  if (!options.calls.empty()) grants.calls = calls_of(options.calls);
  if (!options.owns.empty()) grants.owns = options.owns == "*";
  if (!options.reads.empty()) grants.reads = options.reads == "*";
}

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string list_line(const KeyDirectory& directory) {
  return fmt::format("{}: serial {}, {}\n", directory.list_path(), directory.list().serial,
                     plural(directory.list().members.size(), "member"));
}

void print_list(const KeyDirectory& directory) { fmt::print("{}", list_line(directory)); }

void print_members(const MemberList& list) {
  std::size_t width = 4;
  for (const MemberList::Member& member : list.members) width = std::max(width, member.name.size());
  fmt::print("cluster {}, serial {}, {}\n", list.cluster_id, list.serial, plural(list.members.size(), "member"));
  const auto now = std::chrono::system_clock::now();
  for (const MemberList::Member& member : list.members) {
    fmt::print("{:<{}}  {}", member.name, width, hex_of(member.key.bytes));
    if (member.until) fmt::print("  until {}{}", date_text(*member.until), member.has_expired(now) ? ", expired" : "");
    if (member.grants.calls) fmt::print("  calls {}", calls_text(*member.grants.calls));
    if (!member.grants.owns) fmt::print("  owns -");
    if (!member.grants.reads) fmt::print("  reads -");
    fmt::print("\n");
  }
}

[[noreturn]] void refuse(const Error& error) {
  throw KeysError(error.hint.empty() ? error.message : fmt::format("{}: {}", error.message, error.hint));
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

int show_public(const KeysCommandOptions& options) {
  if (is_directory(options.path)) {
    const MemberList list = KeyDirectory::open_to_read(options.path).list();
    print_members(list);  // which may take long: nobody waits for the directory
    return 0;
  }
  const auto file = NodeKeyFile::load(options.path);
  if (!file.ok()) refuse(file.error());
  fmt::print("{}  {}\n", file.value().name, hex_of(file.value().keys.public_key().bytes));
  return 0;
}

int verify(const KeysCommandOptions& options) {
  if (!is_directory(options.path)) {
    const auto keys = NodeKeys::load(options.path, options.members, std::chrono::system_clock::now());
    if (!keys.ok()) refuse(keys.error());
    fmt::print("{} is in cluster {}, serial {}, with {}\n", keys.value().ring.own_name(), keys.value().cluster_id,
               keys.value().serial, plural(keys.value().ring.members().size() - 1, "other member"));
    return 0;
  }
  const auto [problems, line] = [&options] {  // what is printed may take long: nobody waits for the directory
    const KeyDirectory directory = KeyDirectory::open_to_read(options.path);
    return std::pair(directory.problems(), list_line(directory));
  }();
  for (const std::string& problem : problems) fmt::print("{}\n", problem);
  if (problems.empty()) fmt::print("{}", line);
  return problems.empty() ? 0 : 1;
}

}  // namespace

int run_keys_command(const KeysCommandOptions& options) {
  switch (options.action) {
    case KeysAction::show_public: return show_public(options);
    case KeysAction::verify: return verify(options);
    case KeysAction::init_cluster: {
      const KeyDirectory made = KeyDirectory::make(options.path);
      fmt::print("{}: signs who is in; it stays here\n",
                 (std::filesystem::path(options.path) / "cluster.key").string());
      print_list(made);
      return 0;
    }
    case KeysAction::grant: {
      KeyDirectory directory = KeyDirectory::open(options.path);
      directory.grant(options.names, [&](MemberList::Grants& grants) { set_grants(grants, options); });
      print_list(directory);
      return 0;
    }
    case KeysAction::revoke: {
      KeyDirectory directory = KeyDirectory::open(options.path);
      directory.revoke(options.names);
      print_list(directory);
      return 0;
    }
    case KeysAction::new_node:
    case KeysAction::rotate: break;
  }
  KeyDirectory directory = KeyDirectory::open(options.path);
  const auto until = last_day(options.until);
  std::vector<std::string> names = options.names;
  std::ranges::copy_if(options.names_wanted, std::back_inserter(names),
                       [&](const auto& name) { return directory.list().find(name) == nullptr; });
  if (names.empty() && options.names_wanted.empty()) throw KeysError("no node was named");
  if (!names.empty()) {
    MemberList::Grants grants;
    set_grants(grants, options);
    options.action == KeysAction::rotate ? directory.rotate(names, until) : directory.add(names, until, grants);
  }
  for (const std::string& name : names) {
    fmt::print("{}: for {} alone\n", directory.key_path(name), name);
    if (name.size() <= kConfiguredNameMax) continue;
    fmt::print(stderr,
               "troupe: {} has {} characters, and neither `troupe up` nor `troupe node` starts a node whose name has "
               "more than {}\n",
               name, name.size(), kConfiguredNameMax);
  }
  print_list(directory);
  return 0;
}

}  // namespace troupe
