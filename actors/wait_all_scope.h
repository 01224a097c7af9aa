// A scope that counts the calls made through it.
#pragma once

#include <memory>

#include "actors/scope.h"

namespace troupe {

/// Counts the calls and fetches made through it, and through scopes that its `with` returns; not those made by the
/// called functions, nor `remote`, whose value says itself when it is there. Thread rule: any thread may call any
/// member.
///
///   WaitAllScope calls(scope);
///   const Future<Tensor> a = calls.rpc_async("ps0", &half, x);
///   const Future<Tensor> b = calls.rpc_async("ps1", &half, x);
///   calls.wait_all();
class WaitAllScope final : public Scope {
 public:
  explicit WaitAllScope(const Scope& scope);

  /// Cancels the open calls without waiting for them.
  ~WaitAllScope();
  WaitAllScope(const WaitAllScope&) = delete;
  WaitAllScope& operator=(const WaitAllScope&) = delete;

  /// Waits until no call is open. Throws RemoteError with the first failure since the last wait. The scope stays
  /// usable.
  void wait_all();
};

}  // namespace troupe
