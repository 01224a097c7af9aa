// The rules of the house that a machine can check: who may include whom, sizes, names, words. Plain functions on text.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace tidy {

/// A file of the tree: its path from the root, with '/', and all it says.
struct File {
  std::string path;
  std::string text;
};

/// One broken rule. `line` counts from 1; 0 if it is about the whole file.
struct Finding {
  std::string path;
  int line = 0;
  std::string what;

  friend bool operator==(const Finding&, const Finding&) = default;
};
/// "tensor/shape.h:12: what"
std::ostream& operator<<(std::ostream& out, const Finding& finding);

using Findings = std::vector<Finding>;

/// Folders see only what the design lets them see. Quoted includes are written from the root, and every library has its
/// place.
[[nodiscard]] Findings check_includes(const File& file);

/// Headers have at most 300 lines, sources 600, a folder's README.md 80.
[[nodiscard]] Findings check_length(const File& file);

/// Lines of C++ have at most 120 columns, save those of a raw string, which cannot be broken.
[[nodiscard]] Findings check_columns(const File& file);

/// No file is named for being a drawer of odds and ends.
[[nodiscard]] Findings check_name(const File& file);

/// Nothing unfinished; no banners; no `using namespace` in headers; no sleep in tests, save in benchmarks.
[[nodiscard]] Findings check_words(const File& file);

/// What node/ calls a secret, token, proof or mac is compared by sodium_memcmp, whose time tells nothing of the bytes:
/// not by ==, memcmp or std::equal.
[[nodiscard]] Findings check_secret_comparisons(const File& file);

/// The library measures time by a clock that nobody sets. Only what is about dates reads the wall clock.
[[nodiscard]] Findings check_wall_clock(const File& file);

/// Every header begins with comments and `#pragma once`.
[[nodiscard]] Findings check_pragma_once(const File& file);

/// tests/<folder>/<name>_test.cc mirrors <folder>/**/<name>.{h,cc} or the folder <folder>/<name>, unless it stands in
/// one of the folders for tests of the whole.
[[nodiscard]] Findings check_test_mirrors(const std::vector<File>& tree);

/// Every source is listed in the nearest CMakeLists.txt above it that lists any: one that is not is never compiled.
[[nodiscard]] Findings check_listed(const std::vector<File>& tree);

/// What `header` includes, directly or not, are headers of Troupe, of the standard library, of cereal and, if `header`
/// is listed for them, of a library that it shows.
[[nodiscard]] Findings check_public(const std::vector<File>& tree, const std::string& header);

/// What `header` reaches of the folders' internals, which are their rooms but for the ones that users open, is on a
/// list that does not grow; what it does not reach is struck off.
[[nodiscard]] Findings check_internals(const std::vector<File>& tree, const std::string& header);

/// Both hold for every header that cmake/TroupeInstall.cmake installs as a root, and no other header has a list.
[[nodiscard]] Findings check_roots(const std::vector<File>& tree);

/// Every rule of actors/PROTOCOLS.md, a table row that begins with its id ("| RR-1 |"), names in backquotes a test case
/// that there is, or what one begins with and "..."; or a row under the heading "Tests" does so for it. What stands
/// under "test" or "tests" names nothing else, and a rule has one row of its own.
[[nodiscard]] Findings check_protocols(const std::vector<File>& tree);

/// What stands in backquotes under "where" in a table of rules of actors/PROTOCOLS.md is a name of code that is no
/// test.
[[nodiscard]] Findings check_protocol_places(const std::vector<File>& tree);

/// What code and notes call a rule, two capitals and a number ("RR-1"), is one of actors/PROTOCOLS.md.
[[nodiscard]] Findings check_rule_ids(const std::vector<File>& tree);

/// What samples include of Troupe, users find: it is an install root of cmake/TroupeInstall.cmake, or one reaches it.
[[nodiscard]] Findings check_installed(const std::vector<File>& tree);

/// The README.md of a floor has a table of its rooms. A room includes only the rooms, and others include only the
/// headers of it, that its row permits; what a row permits is used. Tests include what they test. The files of the
/// floor itself are the front doors of its rooms and include all of them.
[[nodiscard]] Findings check_rooms(const std::vector<File>& tree);

/// A room is a header with its source. Few rooms include each other in a circle, directly or not: a number for each
/// folder.
[[nodiscard]] Findings check_knots(const std::vector<File>& tree);

/// A folder has at most 50 files of its own in tensor/, autograd/, actors/ and node/, 90 in any other.
[[nodiscard]] Findings check_folders(const std::vector<File>& tree);

/// Where a library may be included, it is.
[[nodiscard]] Findings check_libraries(const std::vector<File>& tree);

/// All of the above.
[[nodiscard]] Findings check_tree(const std::vector<File>& tree);

}  // namespace tidy
