#include "node/keys/member_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "node/node_name.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kSignature = "\nsignature ";
constexpr std::string_view kWithheld = "-";
constexpr auto kAbout = std::to_array<std::string_view>({"until", "calls", "owns", "reads"});  ///< in this order

/// Takes the text behind one of these words. Throws std::invalid_argument.
void read_about(MemberList::Member& member, std::string_view about, std::string_view text) {
  if (about == "until") {
    member.until = parse_date(text);
  } else if (about == "calls") {
    member.grants.calls = parse_calls(text);
  } else {
    if (text != kWithheld) throw std::invalid_argument(fmt::format("has no - behind \"{}\"", about));
    (about == "owns" ? member.grants.owns : member.grants.reads) = false;
  }
}

}  // namespace

MemberList::Member read_member(WordLines& lines) {
  constexpr std::string_view kWord = "member";
  std::string_view line = lines.value(kWord);
  MemberList::Member member;
  member.name = lines.checked_name(kWord, WordLines::next_word(line), kNodeNameMax);
  lines.read_bytes(kWord, WordLines::next_word(line), member.key.bytes);
  const std::string_view* next = kAbout.begin();
  while (!line.empty()) {
    const std::string_view about = WordLines::next_word(line);
    const std::string_view text = WordLines::next_word(line);
    const std::string_view* const found = std::find(next, kAbout.end(), about);
    if (found == kAbout.end()) {
      lines.wrong(kWord,
                  "has other words behind its key than \"until DATE\", \"calls FUNCTION,...\", \"owns -\" and "
                  "\"reads -\", in this order");
    }
    next = found + 1;
    try {
      read_about(member, about, text);
    } catch (const std::invalid_argument& error) {
      lines.wrong(kWord, error.what());
    }
  }
  return member;
}

std::string member_line(const MemberList::Member& member) {
  std::string line = fmt::format("member {} {}", member.name, hex_of(member.key.bytes));
  if (member.until) line += fmt::format(" until {}", date_text(*member.until));
  if (member.grants.calls) line += fmt::format(" calls {}", calls_text(*member.grants.calls));
  if (!member.grants.owns) line += fmt::format(" owns {}", kWithheld);
  if (!member.grants.reads) line += fmt::format(" reads {}", kWithheld);
  return line + '\n';
}

std::string with_signature(std::string text, const SigningKey& key) {
  const Signature signature = key.sign(text);
  return std::move(text) + fmt::format("signature {}\n", hex_of(signature.bytes));
}

void check_signature(WordLines& lines, std::string_view text, const VerifyingKey& key) {
  Signature signature;
  lines.bytes("signature", signature.bytes);
  lines.end();
  const std::string_view before = text.substr(0, text.rfind(kSignature) + 1);
  if (!is_signed(before, signature, key)) {
    throw std::invalid_argument("was not signed by the key of this cluster, or was changed since");
  }
}

}  // namespace troupe::detail
