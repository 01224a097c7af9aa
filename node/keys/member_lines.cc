#include "node/keys/member_lines.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "node/node_name.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kSignature = "\nsignature ";

}  // namespace

MemberList::Member read_member(WordLines& lines) {
  constexpr std::string_view kWord = "member";
  std::string_view line = lines.value(kWord);
  MemberList::Member member;
  member.name = lines.checked_name(kWord, WordLines::next_word(line), kNodeNameMax);
  lines.read_bytes(kWord, WordLines::next_word(line), member.key.bytes);
  while (!line.empty()) {
    const std::string_view about = WordLines::next_word(line);
    const std::string_view text = WordLines::next_word(line);
    const bool is_until = about == "until" && !member.until && !member.calls;
    if (!is_until && (about != "calls" || member.calls))
      lines.wrong(kWord, "has other words behind its key than \"until DATE\" and then \"calls FUNCTION,...\"");
    try {
      is_until ? static_cast<void>(member.until = parse_date(text))
               : static_cast<void>(member.calls = parse_calls(text));
    } catch (const std::invalid_argument& error) {
      lines.wrong(kWord, error.what());
    }
  }
  return member;
}

std::string member_line(const MemberList::Member& member) {
  std::string line = fmt::format("member {} {}", member.name, hex_of(member.key.bytes));
  if (member.until) line += fmt::format(" until {}", date_text(*member.until));
  if (member.calls) line += fmt::format(" calls {}", calls_text(*member.calls));
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
