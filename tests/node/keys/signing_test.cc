#include "node/keys/signing.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "node/keys/word_lines.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(signing)

// RFC 8032, section 7.1, test 2: one byte, 0x72.
BOOST_AUTO_TEST_CASE(a_signature_is_that_of_the_standard) {
  std::array<std::byte, SigningKey::kSeedBytes> seed{};
  detail::WordLines("seed 4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb\n").bytes("seed", seed);
  const SigningKey key = SigningKey::from_seed(seed);
  BOOST_TEST(detail::hex_of(key.verifying_key().bytes) ==
             "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const Signature signature = key.sign("\x72");
  BOOST_TEST(detail::hex_of(signature.bytes) ==
             "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
             "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  BOOST_TEST(is_signed("\x72", signature, key.verifying_key()));
}

BOOST_AUTO_TEST_CASE(another_text_key_or_signature_is_no_signature) {
  const SigningKey key = SigningKey::random();
  const std::string text(1000, 'a');
  const Signature signature = key.sign(text);
  BOOST_TEST(is_signed(text, signature, key.verifying_key()));
  BOOST_TEST(!is_signed(text + "a", signature, key.verifying_key()));
  BOOST_TEST(!is_signed("", signature, key.verifying_key()));
  BOOST_TEST(!is_signed(text, signature, SigningKey::random().verifying_key()));
  for (std::size_t at = 0; at < Signature::kBytes; ++at) {
    Signature changed = signature;
    changed.bytes[at] ^= std::byte{1};
    BOOST_TEST(!is_signed(text, changed, key.verifying_key()), at);
  }
  BOOST_TEST(!is_signed(text, Signature{}, VerifyingKey{}));
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_key) {
  const SigningKey key = SigningKey::random();
  BOOST_TEST((SigningKey::from_seed(key.seed()).verifying_key() == key.verifying_key()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
