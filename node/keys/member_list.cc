#include "node/keys/member_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <stdexcept>
#include <utility>

#include "node/keys/member_lines.h"
#include "node/keys/word_lines.h"

namespace troupe {
namespace {

using detail::hex_of;
using detail::WordLines;

constexpr std::string_view kNoCalls = "-";

/// Returns the number of the digits in `text`, which are all that it has.
int number_of(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns whether `text` is a function or the begin of some, as call grants have them: "eval", "stats.*", "*".
bool is_function(std::string_view text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  if (text.empty() || !is_plain || text == kNoCalls) return false;
  return text.find('*') >= text.size() - 1;  // at the end, or nowhere
}

}  // namespace

bool MemberList::Member::has_expired(std::chrono::system_clock::time_point now) const {
  return until && std::chrono::floor<std::chrono::days>(now) > *until;  // nanoseconds end in 2262
}

std::string MemberList::signed_by(const SigningKey& key) const {
  std::string text = fmt::format("troupe-members 1\ncluster {}\nserial {}\n", cluster_id, serial);
  for (const Member& member : members) text += detail::member_line(member);
  return detail::with_signature(std::move(text), key);
}

MemberList MemberList::parse(std::string_view text, const VerifyingKey& key) {
  if (text.size() > kBytesMax) throw std::invalid_argument(fmt::format("has more than {} bytes", kBytesMax));
  WordLines lines(text);
  lines.kind("troupe-members");
  MemberList list;
  std::array<std::byte, kClusterIdBytes> cluster{};
  lines.bytes("cluster", cluster);
  list.cluster_id = hex_of(cluster);
  list.serial = lines.number("serial");
  std::set<NodeName> names;
  std::set<PublicKey> keys;
  while (lines.at("member")) {
    Member member = detail::read_member(lines);
    if (list.members.size() == kMembersMax) lines.wrong("member", fmt::format("is one more than {}", kMembersMax));
    if (!names.insert(member.name).second) lines.wrong("member", fmt::format("names {} again", member.name));
    if (!keys.insert(member.key).second) lines.wrong("member", fmt::format("gives {} another's key", member.name));
    list.members.push_back(std::move(member));
  }
  detail::check_signature(lines, text, key);
  return list;
}

const MemberList::Member* MemberList::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &Member::name);
  return found == members.end() ? nullptr : &*found;
}

std::vector<std::string> parse_calls(std::string_view text) {
  std::vector<std::string> calls;
  if (text == kNoCalls) return calls;
  if (text.size() > MemberList::kCallsMax) {
    throw std::invalid_argument(fmt::format(
        "has functions of more than {} characters; one such as stats.* stands for many", MemberList::kCallsMax));
  }
  while (true) {
    const std::size_t end = text.find(',');
    const std::string_view function = text.substr(0, end);
    if (!is_function(function)) {
      throw std::invalid_argument("has no functions such as eval,stats.*, nor - for none");
    }
    calls.emplace_back(function);
    if (end == std::string_view::npos) return calls;
    text.remove_prefix(end + 1);
  }
}

std::string calls_text(const std::vector<std::string>& calls) {
  return calls.empty() ? std::string(kNoCalls) : fmt::format("{}", fmt::join(calls, ","));
}

std::chrono::sys_days parse_date(std::string_view text) {
  constexpr std::string_view kForm = "2027-01-31";
  const auto fits = [](char c, char form) { return form == '-' ? c == '-' : c >= '0' && c <= '9'; };
  const bool has_form = text.size() == kForm.size() && std::ranges::equal(text, kForm, fits);
  std::chrono::year_month_day date{};
  if (has_form) {
    date = {std::chrono::year(number_of(text.substr(0, 4))),
            std::chrono::month(static_cast<unsigned>(number_of(text.substr(5, 2)))),
            std::chrono::day(static_cast<unsigned>(number_of(text.substr(8, 2))))};
  }
  if (!has_form || !date.ok()) throw std::invalid_argument(fmt::format("has no date such as {}", kForm));
  return date;
}

std::string date_text(std::chrono::sys_days date) {
  const std::chrono::year_month_day day(date);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

}  // namespace troupe
