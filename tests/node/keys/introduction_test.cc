#include "node/keys/introduction.h"

#include <boost/test/unit_test.hpp>

#include <sodium.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "node/keys/certificate.h"

namespace troupe::detail {
namespace {

using boost::unit_test::label;
using Bytes = std::vector<std::byte>;

struct Both {
  [[nodiscard]] Bytes request() const {
    return Introduction{newcomer.public_key(), certificate}.sealed_to(member.public_key()).value();
  }
  const KeyPair newcomer = KeyPair::random();
  const KeyPair member = KeyPair::random();
  const std::string certificate = "troupe-certificate 1\n...";
};

BOOST_AUTO_TEST_SUITE(introduction)

BOOST_FIXTURE_TEST_CASE(a_request_is_read_by_the_member_for_which_it_is_and_the_answer_by_the_newcomer, Both) {
  const Bytes sent = request();
  const auto opened = Introduction::open(sent, member);
  BOOST_REQUIRE(opened.has_value());
  BOOST_TEST((opened->key == newcomer.public_key()));
  BOOST_TEST(opened->certificate == certificate);
  const IntroductionAnswer yes{};
  const auto answer =
      IntroductionAnswer::open(yes.sealed(sent, member, opened->key).value(), sent, newcomer, member.public_key());
  BOOST_REQUIRE(answer.has_value());
  BOOST_TEST(!answer->refused.has_value());
  const IntroductionAnswer no{ErrorCode::resource_exhausted, std::string(2000, 'x')};
  const auto refusal =
      IntroductionAnswer::open(no.sealed(sent, member, opened->key).value(), sent, newcomer, member.public_key());
  BOOST_REQUIRE(refusal.has_value());
  BOOST_TEST((refusal->refused == ErrorCode::resource_exhausted));
  BOOST_TEST(refusal->text == std::string(IntroductionAnswer::kTextMax, 'x'));
}

BOOST_FIXTURE_TEST_CASE(a_request_hides_what_it_says_and_the_longest_certificate_has_room, Both) {
  const Introduction longest{newcomer.public_key(), std::string(Certificate::kBytesMax, 'c')};
  const Bytes sent = longest.sealed_to(member.public_key()).value();
  BOOST_TEST(sent.size() <= kIntroductionMax);
  const std::string text(reinterpret_cast<const char*>(sent.data()), sent.size());
  BOOST_TEST(text.find("cccc") == std::string::npos);
  BOOST_TEST(Introduction::open(sent, member)->certificate == longest.certificate);
  Introduction longer = longest;
  longer.certificate += 'c';
  BOOST_TEST(!Introduction::open(longer.sealed_to(member.public_key()).value(), member).has_value());
}

BOOST_FIXTURE_TEST_CASE(each_changed_or_missing_byte_makes_it_none, Both, *label("attack") * label("S2")) {
  const Bytes sent = request();
  const Bytes answer = IntroductionAnswer{}.sealed(sent, member, newcomer.public_key()).value();
  for (std::size_t at = 0; at < sent.size(); ++at) {
    Bytes changed = sent;
    changed[at] ^= std::byte{1};
    BOOST_TEST(!Introduction::open(changed, member).has_value());
    BOOST_TEST(!Introduction::open(Bytes(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(at)), member));
  }
  for (std::size_t at = 0; at < answer.size(); ++at) {
    Bytes changed = answer;
    changed[at] ^= std::byte{1};
    BOOST_TEST(!IntroductionAnswer::open(changed, sent, newcomer, member.public_key()).has_value());
    changed.assign(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(at));
    BOOST_TEST(!IntroductionAnswer::open(changed, sent, newcomer, member.public_key()).has_value());
  }
  Bytes longer = sent;
  longer.push_back(std::byte{0});
  BOOST_TEST(!Introduction::open(longer, member).has_value());
}

BOOST_FIXTURE_TEST_CASE(another_key_opens_neither_and_an_answer_is_of_one_request, Both,
                        *label("attack") * label("S2")) {
  const KeyPair thief = KeyPair::random();
  const Bytes sent = request();
  BOOST_TEST(!Introduction::open(sent, thief).has_value());
  const Bytes answer = IntroductionAnswer{}.sealed(sent, member, newcomer.public_key()).value();
  BOOST_TEST(!IntroductionAnswer::open(answer, sent, thief, member.public_key()).has_value());
  BOOST_TEST(!IntroductionAnswer::open(answer, sent, newcomer, thief.public_key()).has_value());
  const Bytes forged = IntroductionAnswer{}.sealed(sent, thief, newcomer.public_key()).value();
  BOOST_TEST(!IntroductionAnswer::open(forged, sent, newcomer, member.public_key()).has_value());
  const Bytes again = request();
  BOOST_TEST((again != sent));
  BOOST_TEST(!IntroductionAnswer::open(answer, again, newcomer, member.public_key()).has_value());
}

// CURVE and sealed secrets use the same keys: what they seal must not pass for an answer.
BOOST_FIXTURE_TEST_CASE(a_box_that_was_sealed_for_another_purpose_is_no_answer, Both, *label("attack") * label("S2")) {
  const Bytes sent = request();
  Bytes answer = IntroductionAnswer{}.sealed(sent, member, newcomer.public_key()).value();
  const auto chars = [](auto* bytes) { return reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes)); };
  std::byte* const nonce = answer.data() + kIntroductionHead;
  std::byte* const box = nonce + crypto_box_NONCEBYTES;
  const std::size_t size = answer.size() - kIntroductionHead - crypto_box_NONCEBYTES;
  Bytes plain(size - crypto_box_MACBYTES);
  BOOST_REQUIRE(crypto_box_open_easy(chars(plain.data()), chars(box), size, chars(nonce),
                                     chars(member.public_key().bytes.data()), chars(newcomer.secret().data())) == 0);
  nonce[0] = std::byte{'V'};
  BOOST_REQUIRE(crypto_box_easy(chars(box), chars(plain.data()), plain.size(), chars(nonce),
                                chars(newcomer.public_key().bytes.data()), chars(member.secret().data())) == 0);
  BOOST_TEST(!IntroductionAnswer::open(answer, sent, newcomer, member.public_key()).has_value());
}

BOOST_FIXTURE_TEST_CASE(a_key_that_is_none_is_said_to_be_that, Both, *label("attack")) {
  const PublicKey none{};  // a point of low order
  BOOST_TEST(!IntroductionAnswer{}.sealed(request(), member, none).has_value());
  BOOST_TEST(!Introduction{}.sealed_to(none).has_value());
}

BOOST_FIXTURE_TEST_CASE(random_bytes_are_no_message, Both, *label("attack")) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2'000; ++i) {
    Bytes bytes(random() % (kIntroductionMax + 2));
    for (std::byte& each : bytes) each = static_cast<std::byte>(random());
    if (const Bytes head = request(); i % 2 == 0 && bytes.size() >= kIntroductionHead) {
      std::copy_n(head.begin(), kIntroductionHead - 2, bytes.begin());
      const std::size_t rest = bytes.size() - kIntroductionHead;
      bytes[6] = static_cast<std::byte>(rest & 0xff);
      bytes[7] = static_cast<std::byte>(rest >> 8);
    }
    BOOST_TEST(!Introduction::open(bytes, member).has_value());
    BOOST_TEST(!IntroductionAnswer::open(bytes, request(), newcomer, member.public_key()).has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
