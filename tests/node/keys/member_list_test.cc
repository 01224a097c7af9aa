#include "node/keys/member_list.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "node/keys/word_lines.h"

namespace troupe {
namespace {

using std::chrono::sys_days;
using std::chrono::year;
using namespace std::chrono_literals;

const sys_days kLastDay{year{2027} / 1 / 31};

MemberList list_of_two() {
  MemberList list{.cluster_id = "000102030405060708090a0b0c0d0e0f", .serial = 3, .members = {}};
  list.members.push_back({"ps", {{std::byte{1}}}, std::nullopt});
  list.members.push_back({"trainer0", {{std::byte{2}}}, kLastDay});
  return list;
}

std::string zeros(std::size_t count) { return std::string(count, '0'); }

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  return text.replace(text.find(what), what.size(), by);
}

/// What a list says that was changed before it was signed: not that its signature is wrong.
std::string refusal_of(const MemberList& list, const std::function<std::string(std::string)>& change) {
  const SigningKey key = SigningKey::random();
  try {
    (void)MemberList::parse(change(list.signed_by(key)), key.verifying_key());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

std::string refusal_with(std::string_view what, std::string_view by) {
  return refusal_of(list_of_two(), [&](std::string text) { return replaced(std::move(text), what, by); });
}

BOOST_AUTO_TEST_SUITE(member_list)

BOOST_AUTO_TEST_CASE(a_list_is_lines_of_words_and_its_signature) {
  const SigningKey key = SigningKey::random();
  const std::string text = list_of_two().signed_by(key);
  const std::string said =
      "troupe-members 1\n"
      "cluster 000102030405060708090a0b0c0d0e0f\n"
      "serial 3\n"
      "member ps 01" +
      zeros(62) + "\nmember trainer0 02" + zeros(62) + " until 2027-01-31\n";
  BOOST_TEST(text == said + "signature " + detail::hex_of(key.sign(said).bytes) + "\n");
  BOOST_TEST((MemberList::parse(text, key.verifying_key()) == list_of_two()));
}

BOOST_AUTO_TEST_CASE(a_list_without_members_is_a_list) {
  const SigningKey key = SigningKey::random();
  const MemberList empty{.cluster_id = zeros(32), .serial = 1, .members = {}};
  BOOST_TEST((MemberList::parse(empty.signed_by(key), key.verifying_key()) == empty));
}

BOOST_AUTO_TEST_CASE(every_changed_byte_and_every_cut_are_refused) {
  const SigningKey key = SigningKey::random();
  const std::string text = list_of_two().signed_by(key);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '1' ? '2' : '1';
    BOOST_CHECK_THROW((void)MemberList::parse(changed, key.verifying_key()), std::invalid_argument);
    BOOST_CHECK_THROW((void)MemberList::parse(text.substr(0, at), key.verifying_key()), std::invalid_argument);
  }
  BOOST_CHECK_THROW((void)MemberList::parse(text + "\n", key.verifying_key()), std::invalid_argument);
  BOOST_CHECK_THROW((void)MemberList::parse(text, SigningKey::random().verifying_key()), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_wrong_line_is_named) {
  BOOST_TEST(refusal_with("serial 3", "serial x") == "line 3: \"serial\" is not a number");
  BOOST_TEST(refusal_with("cluster 00", "cluster 0") == "line 2: \"cluster\" is not 32 hexadecimal digits");
  BOOST_TEST(refusal_with("trainer0", "a/b") == "line 5: \"member\" is not a name");
  BOOST_TEST(refusal_with("member ps 01", "member ps 0") == "line 4: \"member\" is not 64 hexadecimal digits");
  const std::string others =
      R"(line 5: "member" has other words behind its key than "until DATE", "calls FUNCTION,...", "owns -" and "reads -", )"
      "in this order";
  BOOST_TEST(refusal_with("until 2027", "unto 2027") == others);
  BOOST_TEST(refusal_with("01-31", "01-31 until 2027-01-31") == others);
  BOOST_TEST(refusal_with("until", "calls eval until") == others);
  BOOST_TEST(refusal_with("01-31", "01-31 calls eval calls eval") == others);
  BOOST_TEST(refusal_with("01-31", "02-31") == "line 5: \"member\" has no date such as 2027-01-31");
  BOOST_TEST(refusal_with("01-31", "01-31 x") == others);
  for (const char* disorder : {"owns - calls eval", "reads - owns -", "owns - owns -", "reads - reads -", "owns"}) {
    BOOST_TEST(refusal_with("01-31", std::string("01-31 ") + disorder) != "");
  }
  BOOST_TEST(refusal_with("01-31", "01-31 reads - owns -") == others);
  BOOST_TEST(refusal_with("01-31", "01-31 owns *") == R"(line 5: "member" has no - behind "owns")");
  BOOST_TEST(refusal_with("01-31", "01-31 owns - reads no") == R"(line 5: "member" has no - behind "reads")");
  for (const char* none :
       {"", ",", "eval,", ",eval", "eval,-", "eval,,pull", "*eval*", "*.eval", "e*v", "**", "stats.*.*"}) {
    BOOST_TEST(refusal_with("01-31", std::string("01-31 calls ") + none) ==
               "line 5: \"member\" has no functions such as eval,stats.*, nor - for none");
  }
  BOOST_TEST((parse_calls("sq*,stats.*,*") == std::vector<std::string>{"sq*", "stats.*", "*"}));
  BOOST_TEST(refusal_with("trainer0", "ps") == "line 5: \"member\" names ps again");
  BOOST_TEST(refusal_with("trainer0 02", "trainer0 01") == "line 5: \"member\" gives trainer0 another's key");
  BOOST_TEST(refusal_with("serial 3", "serial 2") == "was not signed by the key of this cluster, or was changed since");
  BOOST_TEST(refusal_of(list_of_two(), [](const std::string& text) { return text + "more\n"; }) ==
             "line 7: something follows the last line");
}

// What comes before a second signature is not what the first one signs.
BOOST_AUTO_TEST_CASE(a_list_has_one_signature, *boost::unit_test::label("attack")) {
  const SigningKey key = SigningKey::random();
  const std::string text = list_of_two().signed_by(key);
  const std::string line = text.substr(text.find("signature "));
  BOOST_CHECK_THROW((void)MemberList::parse(text + line, key.verifying_key()), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_member_expires_at_the_end_of_its_last_day) {
  const MemberList list = list_of_two();
  BOOST_TEST(!list.members[1].has_expired(kLastDay + 23h + 59min));
  BOOST_TEST(list.members[1].has_expired(kLastDay + 24h));
  BOOST_TEST(!list.members[0].has_expired(kLastDay + 24h));
  BOOST_TEST(!(MemberList::Member{"a", {}, parse_date("9999-12-31")}.has_expired(kLastDay)));
}

BOOST_AUTO_TEST_CASE(what_a_member_may_call_is_behind_its_last_day) {
  const SigningKey key = SigningKey::random();
  MemberList list = list_of_two();
  list.members[0].grants.calls = std::vector<std::string>{};
  list.members[1].grants.calls = std::vector<std::string>{"eval", "stats.*"};
  const std::string text = list.signed_by(key);
  BOOST_TEST(text.find(" calls -\n") != std::string::npos);
  BOOST_TEST(text.find(" until 2027-01-31 calls eval,stats.*\n") != std::string::npos);
  BOOST_TEST((MemberList::parse(text, key.verifying_key()) == list));
}

BOOST_AUTO_TEST_CASE(rights_that_are_withheld_are_behind_the_calls, *boost::unit_test::label("S6")) {
  const SigningKey key = SigningKey::random();
  MemberList list = list_of_two();
  list.members[0].grants.reads = false;
  list.members[1].grants = {.calls = std::vector<std::string>{"eval"}, .owns = false, .reads = false};
  const std::string text = list.signed_by(key);
  BOOST_TEST(text.find(zeros(62) + " reads -\n") != std::string::npos);
  BOOST_TEST(text.find(" until 2027-01-31 calls eval owns - reads -\n") != std::string::npos);
  BOOST_TEST((MemberList::parse(text, key.verifying_key()) == list));
  list.members[1].grants.reads = true;
  BOOST_TEST(list.signed_by(key).find(" calls eval owns -\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(members_are_found_by_name) {
  const MemberList list = list_of_two();
  BOOST_TEST(list.find("trainer0") == &list.members[1]);
  BOOST_TEST(list.find("trainer") == nullptr);
}

BOOST_AUTO_TEST_CASE(dates_have_one_form) {
  BOOST_TEST(date_text(parse_date("2028-02-29")) == "2028-02-29");
  for (const char* text : {"", "2027-02-29", "2027-1-31", "2027-01-31 ", "31.01.2027", "2027-00-10", "2027-13-10",
                           "20x7-01-31", "-027-01-31", "2027-01-00"}) {
    BOOST_CHECK_THROW((void)parse_date(text), std::invalid_argument);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
