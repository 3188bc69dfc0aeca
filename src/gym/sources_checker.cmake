# Files of checker/: sessions and judgements over interfaces, the host's implementations. Included by src/gym/CMakeLists.txt.
set(KW_CHECKER_HDRS
  checker/admission.h checker/audit_instances.h checker/audit_schedule.h checker/backend.h checker/benchmark_rules.h
  checker/call_comparer.h checker/call_deadline.h checker/clock.h checker/executor.h checker/executor_client.h checker/executor_fault.h
  checker/executor_outputs.h checker/fault.h checker/fault_cost.h checker/further_draws.h checker/gpu_call.h checker/hard_cases.h checker/hard_schedule.h checker/host_memory.h checker/input_source.h
  checker/judged_calls.h checker/judged_outputs.h checker/judgement.h checker/judging_context.h
  checker/kernelbench_trials.h checker/layout.h checker/learning.h checker/lease_client.h checker/machine_state.h
  checker/module_description.h checker/null_launch.h checker/oracle.h checker/oracle_client.h
  checker/output_checker.h checker/output_memory.h checker/pages.h checker/paired_memory.h checker/reference_runs.h
  checker/reply.h checker/server.h checker/session.h checker/session_options.h checker/signal_name.h checker/session_seeds.h checker/side.h
  checker/tensor_bytes.h checker/tensor_memory.h checker/timed_blocks.h checker/timing_lease.h checker/trial.h checker/turn.h)
# Bytes of tensors, and what runs beside a clock.
set(KW_CHECKER_SRCS
  checker/call_comparer.cc checker/clock.cc checker/executor_client.cc checker/executor_outputs.cc
  checker/fault_cost.cc checker/host_memory.cc checker/input_source.cc checker/layout.cc checker/null_launch.cc
  checker/output_checker.cc checker/output_memory.cc checker/paired_memory.cc checker/tensor_bytes.cc
  checker/timed_blocks.cc checker/turn.cc)
# Control.
set(KW_CHECKER_COLD_SRCS
  checker/admission.cc checker/audit_instances.cc checker/benchmark_rules.cc checker/call_deadline.cc checker/executor_fault.cc
  checker/further_draws.cc checker/gpu_call.cc checker/hard_cases.cc checker/hard_schedule.cc checker/host_backend.cc checker/judged_calls.cc
  checker/judged_outputs.cc checker/judgement.cc checker/kernelbench_trials.cc checker/learning.cc
  checker/machine_state.cc checker/module_description.cc checker/oracle.cc checker/oracle_client.cc checker/pages.cc
  checker/reference_runs.cc checker/reply.cc checker/server.cc checker/session.cc checker/session_options.cc checker/session_seeds.cc checker/signal_name.cc
  checker/side.cc checker/trial.cc)
set(KW_CHECKER_TESTS
  checker/gpu_call_test.cc checker/module_description_test.cc checker/null_launch_test.cc checker/output_checker_test.cc checker/reply_test.cc)
# Those that need the fakes of checker/testing.
set(KW_CHECKER_FAKED_TESTS
  checker/admission_test.cc checker/audit_instances_test.cc checker/benchmark_rules_test.cc checker/call_deadline_test.cc checker/executor_client_test.cc
  checker/executor_fault_test.cc checker/executor_outputs_test.cc checker/further_draws_test.cc checker/hard_cases_test.cc checker/hard_schedule_test.cc
  checker/host_memory_test.cc checker/input_source_test.cc checker/judged_calls_test.cc checker/judged_outputs_test.cc
  checker/judgement_test.cc checker/kernelbench_trials_test.cc checker/learning_test.cc checker/mixed_inputs_test.cc
  checker/oracle_client_test.cc checker/paired_memory_test.cc checker/reference_runs_test.cc checker/server_test.cc
  checker/session_options_test.cc checker/session_test.cc checker/side_test.cc checker/timed_blocks_test.cc checker/trial_test.cc)
