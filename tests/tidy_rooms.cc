// Rules about the rooms of a floor: the table in its README.md says what a room may include, and what others may
// include of it.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy_rules.h"
#include "tests/tidy_text.h"

namespace tidy {
namespace {

constexpr std::array<std::string_view, 6> kFloors{"tensor/", "autograd/", "optim/", "messages/", "actors/", "node/"};

/// How the table begins.
constexpr std::string_view kHead = "| room | its task | may include | others may include |";

using Names = std::set<std::string, std::less<>>;

/// What a cell permits: "nothing", "`a`, `b`", "everything" or "everything but `a`, `b`".
struct Permission {
  bool everything = false;
  Names names;  ///< what is permitted or, of everything, what is not

  [[nodiscard]] bool permits(const std::string& name) const { return everything != names.contains(name); }
};

/// A row of a floor's table, and what uses it.
struct Row {
  std::string readme;
  int line = 0;
  std::string room;       ///< "actors/calls/"
  Permission may;         ///< rooms of the floor: "core/", "links/streams/"
  Permission others_may;  ///< headers of the room: "scope_state"
  Names includes;
  Names is_included;

  [[nodiscard]] std::string says() const { return ", says " + readme + ":" + std::to_string(line); }
  /// What puts the parts of a floor together includes whatever it finds.
  [[nodiscard]] bool is_assembly() const { return may.everything && may.names.empty(); }
};

/// Rooms, and files that have a row of their own, by their path: "actors/calls/", "actors/core/node_assembly".
using Rows = std::map<std::string, Row, std::less<>>;

std::string floor_of(std::string_view path) { return folder_of(path) + '/'; }

/// Nothing if `cell` has another form.
std::optional<Permission> permission_of(std::string_view cell) {
  Permission permission;
  if (take(cell, "nothing")) return cell.empty() ? std::optional(permission) : std::nullopt;
  if (take(cell, "everything")) {
    permission.everything = true;
    if (cell.empty()) return permission;
    if (!take(cell, "but")) return std::nullopt;
  }
  do {
    const auto end = take(cell, "`") ? cell.find('`') : 0;
    if (end == 0 || end == std::string_view::npos) return std::nullopt;
    permission.names.emplace(cell.substr(0, end));
    cell.remove_prefix(end + 1);
  } while (take(cell, ","));
  return cell.empty() ? std::optional(permission) : std::nullopt;
}

/// The cells of a table's row, and an empty one behind its end.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (take(line, "|")) {
    const auto end = std::min(line.find('|'), line.size());
    cells.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return cells;
}

/// Adds the rows of a floor's README.md, and findings of those that cannot be read.
void read_table(const File& readme, Rows& rows, Findings& findings) {
  bool inside = false;
  for_each_line(readme, [&](int number, std::string_view line) {
    inside = line == kHead || (inside && line.starts_with('|'));
    if (!inside || line == kHead || line.starts_with("|---")) return;
    const std::vector<std::string_view> cells = cells_of(line);
    const bool is_whole = cells.size() == 5;
    const auto name = is_whole ? permission_of(cells[0]) : std::nullopt;
    const auto may = is_whole ? permission_of(cells[2]) : std::nullopt;
    const auto others_may = is_whole ? permission_of(cells[3]) : std::nullopt;
    if (!name || name->names.size() != 1 || !may || !others_may) {
      findings.push_back({readme.path, number, "is no row of rooms: names in backquotes, nothing, everything (but)"});
      return;
    }
    const std::string path = floor_of(readme.path) + *name->names.begin();
    const std::string room(parent_of(path));
    if (!rows.try_emplace(path, Row{readme.path, number, room, *may, *others_may, {}, {}}).second)
      findings.push_back({readme.path, number, "is a second row of " + path});
  });
}

/// The row of the file itself, or else that of its room; nullptr: it stands in no room.
Row* row_of(Rows& rows, std::string_view path) {
  auto found = rows.find(path.substr(0, path.rfind('.')));
  if (found == rows.end()) found = rows.find(parent_of(path));
  return found == rows.end() ? nullptr : &found->second;
}

/// "actors/shards/" of a header in it. A header that is named for a room, as ops.h, stands for it.
std::string room_behind(const Rows& rows, std::string_view header) {
  std::string named(header.substr(0, header.rfind('.')));
  named += '/';
  return rows.contains(named) ? named : std::string(parent_of(header));
}

/// Judges the includes of one file, and notes which permissions they use.
void check_file(const File& file, Rows& rows, Findings& findings) {
  Row* const from = row_of(rows, file.path);
  const std::string_view room = parent_of(file.path);
  for (const Include& include : includes_of(file)) {
    if (!include.quoted) continue;
    const std::string floor = floor_of(include.name);
    const std::string to = room_behind(rows, include.name);
    if (from != nullptr && to != room && floor == floor_of(file.path) && rows.contains(to)) {
      const std::string name = to.substr(floor.size());
      from->includes.insert(name);
      if (!from->may.permits(name))
        findings.push_back(
            {file.path, include.line,
             "includes " + include.name + ": " + from->room + " may not include " + name + from->says()});
    }
    const auto there = rows.find(parent_of(include.name));
    if (there == rows.end() || there->first == room || room == floor || (from != nullptr && from->is_assembly()))
      continue;
    const std::string name(stem_of(include.name));
    there->second.is_included.insert(name);
    if (!there->second.others_may.permits(name))
      findings.push_back(
          {file.path, include.line,
           "includes " + include.name + ", which is for " + there->first + " only" + there->second.says()});
  }
}

/// Whether the row at `path` is of something, and nothing in it is without effect. `there`: rooms and files.
Findings check_row(const std::string& path, const Row& row, const Names& there) {
  Findings findings;
  const auto check = [&](bool holds, const std::string& what) {
    if (!holds) findings.push_back({row.readme, row.line, what});
  };
  check(there.contains(path), "names what is not there: " + path);
  for (const std::string& name : row.may.names) {
    if (row.may.everything) {
      check(there.contains(floor_of(path) + name), "excepts what is not there: " + floor_of(path) + name);
    } else {
      check(row.includes.contains(name), path + " includes nothing of " + name + ": strike it");
    }
  }
  for (const std::string& name : row.others_may.names) {
    if (row.others_may.everything) {
      check(there.contains(row.room + name), "excepts what is not there: " + row.room + name);
    } else {
      check(row.is_included.contains(name), "nothing outside " + row.room + " includes " + name + ": strike it");
    }
  }
  return findings;
}

}  // namespace

Findings check_rooms(const std::vector<File>& tree) {
  Findings findings;
  Rows rows;
  for (const File& file : tree) {
    if (file.path == floor_of(file.path) + "README.md" && std::ranges::count(kFloors, floor_of(file.path)) > 0)
      read_table(file, rows, findings);
  }
  Names there;  // rooms and files, as rows name them
  for (const File& file : tree) {
    const std::string room(parent_of(file.path));
    if (!is_code(file.path) || std::ranges::count(kFloors, floor_of(file.path)) == 0 || room == floor_of(room))
      continue;
    if (there.insert(room).second && !rows.contains(room))
      findings.push_back({floor_of(room) + "README.md", 0, "has no row for the room " + room});
    there.insert(room + std::string(stem_of(file.path)));
  }
  for (const File& file : tree) {
    if (is_code(file.path) && !file.path.starts_with("tests/")) check_file(file, rows, findings);
  }
  for (const auto& [path, row] : rows) std::ranges::move(check_row(path, row, there), std::back_inserter(findings));
  return findings;
}

}  // namespace tidy
