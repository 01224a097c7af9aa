// What the list of members and a certificate have in common: a member's line, and the signature at the end.
#pragma once

#include <string>
#include <string_view>

#include "node/keys/member_list.h"
#include "node/keys/signing.h"
#include "node/keys/word_lines.h"

namespace troupe::detail {

/// Takes the next line, a member's. Throws std::invalid_argument, as WordLines.
[[nodiscard]] MemberList::Member read_member(WordLines& lines);

/// Returns that line.
[[nodiscard]] std::string member_line(const MemberList::Member& member);

/// Returns `text` and the line of its signature.
[[nodiscard]] std::string with_signature(std::string text, const SigningKey& key);

/// Takes the last line of `text`, the signature over all before it. Throws std::invalid_argument if it is not that, or
/// not by the owner of `key`.
void check_signature(WordLines& lines, std::string_view text, const VerifyingKey& key);

}  // namespace troupe::detail
