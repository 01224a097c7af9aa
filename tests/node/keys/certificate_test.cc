#include "node/keys/certificate.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "node/keys/word_lines.h"

namespace troupe {
namespace {

using std::chrono::sys_days;
using std::chrono::year;

Certificate certificate_of_one() {
  return {.cluster_id = "000102030405060708090a0b0c0d0e0f",
          .serial = 4,
          .member = {"trainer1",
                     {{std::byte{2}}},
                     sys_days{year{2027} / 1 / 31},
                     {.calls = std::vector<std::string>{"eval"}, .reads = false}}};
}

/// What a certificate says that was changed before it was signed.
std::string refusal_of_certificate_with(std::string_view what, std::string_view by) {
  const SigningKey key = SigningKey::random();
  std::string text = certificate_of_one().signed_by(key);
  text.replace(text.find(what), what.size(), by);
  try {
    (void)Certificate::parse(text, key.verifying_key());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

BOOST_AUTO_TEST_SUITE(certificate)

BOOST_AUTO_TEST_CASE(a_certificate_is_one_line_of_the_list_and_its_signature, *boost::unit_test::label("S11")) {
  const SigningKey key = SigningKey::random();
  const std::string text = certificate_of_one().signed_by(key);
  const std::string said =
      "troupe-certificate 1\n"
      "cluster 000102030405060708090a0b0c0d0e0f\n"
      "serial 4\n"
      "member trainer1 02" +
      std::string(62, '0') + " until 2027-01-31 calls eval reads -\n";
  BOOST_TEST(text == said + "signature " + detail::hex_of(key.sign(said).bytes) + "\n");
  BOOST_TEST((Certificate::parse(text, key.verifying_key()) == certificate_of_one()));
}

BOOST_AUTO_TEST_CASE(every_changed_byte_and_every_cut_of_a_certificate_are_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S11")) {
  const SigningKey key = SigningKey::random();
  const std::string text = certificate_of_one().signed_by(key);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '1' ? '2' : '1';
    BOOST_CHECK_THROW((void)Certificate::parse(changed, key.verifying_key()), std::invalid_argument);
    BOOST_CHECK_THROW((void)Certificate::parse(text.substr(0, at), key.verifying_key()), std::invalid_argument);
  }
  BOOST_CHECK_THROW((void)Certificate::parse(text + "\n", key.verifying_key()), std::invalid_argument);
  BOOST_CHECK_THROW((void)Certificate::parse(text, SigningKey::random().verifying_key()), std::invalid_argument);
  BOOST_TEST(refusal_of_certificate_with("serial 4", "serial x") == "line 3: \"serial\" is not a number");
  BOOST_TEST(refusal_of_certificate_with("\nsignature", "\nmember thief 03\nsignature") ==
             "line 5: \"signature\" is not there");
  BOOST_TEST(refusal_of_certificate_with("calls eval", "calls " + std::string(Certificate::kBytesMax, 'f')) ==
             "has more than 1024 bytes");
}

// The key that signs both would make one of the other, if their texts did not begin with their kind.
BOOST_AUTO_TEST_CASE(a_list_is_no_certificate_and_a_certificate_is_no_list, *boost::unit_test::label("attack")) {
  const SigningKey key = SigningKey::random();
  const Certificate certificate = certificate_of_one();
  const MemberList list{certificate.cluster_id, certificate.serial, {certificate.member}};
  BOOST_CHECK_THROW((void)Certificate::parse(list.signed_by(key), key.verifying_key()), std::invalid_argument);
  BOOST_CHECK_THROW((void)MemberList::parse(certificate.signed_by(key), key.verifying_key()), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
