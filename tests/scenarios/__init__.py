"""The twelve scenarios to survive, each a named test on every store to which it applies.

== ======================================================= =================================
 1 put landed, reply lost                                  test_objects, test_rows
 2 409 with the key absent, also on Complete               test_objects
 3 time-out, absent, then the delayed request lands        test_objects, test_rows
 4 Complete landed, reply lost                             test_objects
 5 Complete refused                                        test_objects
 6 a single put during another's multipart upload          test_objects
 7 a delete marker                                         test_objects
 8 a holder pauses past its claim's expiry, then writes    test_windows; tests/claims
 9 compare-and-swap with an ambiguous reply, contention    test_objects
10 a store that ignores conditions                         test_windows; tests/preflight
11 two bodies for one tile                                 test_windows; tests/jobs/test_divergence
12 pages, throttling, no permission to read                test_rows, test_windows
== ======================================================= =================================

Random interleavings of all of them: tests/faults/model.
"""
