"""Chat templates for cross_check.py, written after the ways in which models' own differ: each is a line of what chat templates do."""

OPEN = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
CHATML = "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
LOOP = "{% for message in messages %}" + CHATML + "{% endfor %}"

TEMPLATES = {
    "chatml": LOOP + OPEN,
    "bos_first": "{{ bos_token }}" + LOOP + OPEN,
    "bos_in_the_loop": "{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}" + CHATML + "{% endfor %}" + OPEN,
    "opens_thinking": LOOP + "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}",
    "default_system_in_the_loop": "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful AI assistant<|im_end|>\\n' }}{% endif %}"
                                  + CHATML + "{% endfor %}" + OPEN,
    "default_system_by_variable": "{% set system_message = 'You are a helpful assistant.' %}{% if messages[0]['role'] == 'system' %}{% set system_message = messages[0]['content'] %}"
                                  "{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{% if system_message is defined %}{{ '<|im_start|>system\\n' + system_message + '<|im_end|>\\n' }}{% endif %}"
                                  "{% for message in rest %}" + CHATML + "{% endfor %}" + OPEN,
    "default_system_by_filter": "{{ 'System: ' ~ (messages | selectattr('role', 'equalto', 'system') | map(attribute='content') | join(' ') | default('none', true)) }}"
                                "{% for message in messages | rejectattr('role', 'equalto', 'system') %}\n{{ message.role | capitalize }}: {{ message.content }}{% endfor %}",
    "generation": "{% for message in messages %}{% if message.role == 'assistant' %}{{ '<|im_start|>assistant\\n' }}{% generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}{% else %}"
                  + CHATML + "{% endif %}{% endfor %}" + OPEN,
    "generation_over_lines": "{%- for message in messages %}\n    {%- if message.role == 'assistant' %}\n    A:\n    {% generation %}\n    {{- message.content }}\n    {%- endgeneration %}\n    {%- else %}\n    U: {{ message.content }}\n    {% endif %}\n{%- endfor %}\n",
    "indented_blocks": "{% for message in messages %}\n    {% if message.role == 'user' %}\nQ: {{ message.content }}\n    {% else %}\nA: {{ message.content }}\n    {% endif %}\n{% endfor %}\n{% if add_generation_prompt %}\nA:\n{% endif %}\n",
    "indented_outputs": "{% for message in messages %}\n    {{ message.role }}:\n    {{- message.content }}\n  {#- a comment -#}\n\n  |\n  {# another #}\n{% endfor %}",
    "kept_white_space": "  {%+ if true %} x {%+ endif +%}\n{% for message in messages -%}\n   {{ message.content }}   {%- endfor %}  \n\n",
    "contents_are_trimmed": "{% for message in messages %}{{ message.role + ': ' + message.content | trim + '\\n' }}{% endfor %}{{ 'assistant: ' if add_generation_prompt }}",
    "contents_are_stripped": "{% for message in messages %}[{{ message.content.strip() }}][{{ message['content'].lstrip('\\n') }}][{{ message.content.rstrip('\\n ') }}]{% endfor %}",
    "llama2": "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
              "{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
              "{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}"
              "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}",
    "mistral": "{%- if messages[0].role == 'system' %}\n    {%- set system_message = messages[0].content %}\n    {%- set loop_messages = messages[1:] %}\n{%- else %}\n    {%- set loop_messages = messages %}\n{%- endif %}\n"
               "{%- set ns = namespace() %}\n{%- set ns.index = 0 %}\n{%- for message in loop_messages %}\n    {%- if (message['role'] == 'user') != (ns.index % 2 == 0) %}\n        {{- raise_exception('Roles must alternate') }}\n    {%- endif %}\n"
               "    {%- set ns.index = ns.index + 1 %}\n{%- endfor %}\n{{- bos_token }}\n{%- for message in loop_messages %}\n    {%- if message.role == 'user' %}\n        {%- if loop.last and system_message is defined %}\n"
               "            {{- '[INST]' + system_message + '\\n\\n' + message.content + '[/INST]' }}\n        {%- else %}\n            {{- '[INST]' + message.content + '[/INST]' }}\n        {%- endif %}\n"
               "    {%- else %}\n        {{- message.content | trim + eos_token }}\n    {%- endif %}\n{%- endfor %}\n",
    "gemma": "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}"
             "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}"
             "{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}",
    "gemma3": "{{ bos_token }}\n{%- if messages[0]['role'] == 'system' -%}\n    {%- if messages[0]['content'] is string -%}\n        {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}\n    {%- else -%}\n"
              "        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}\n    {%- endif -%}\n    {%- set loop_messages = messages[1:] -%}\n{%- else -%}\n    {%- set first_user_prefix = '' -%}\n    {%- set loop_messages = messages -%}\n{%- endif -%}\n"
              "{%- for message in loop_messages -%}\n    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}\n    {{ '<start_of_turn>' + role + '\\n' + (first_user_prefix if loop.first else '') }}\n"
              "    {%- if message['content'] is string -%}\n        {{ message['content'] | trim }}\n    {%- elif message['content'] is iterable -%}\n        {%- for item in message['content'] -%}{{ item['text'] | trim }}{%- endfor -%}\n"
              "    {%- else -%}\n        {{ raise_exception('Invalid content type') }}\n    {%- endif -%}\n    {{ '<end_of_turn>\\n' }}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n    {{'<start_of_turn>model\\n'}}\n{%- endif -%}\n",
    "phi3": "{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}"
            "{% elif message['role'] == 'assistant' %}{{'<|assistant|>\\n' + message['content'] + '<|end|>\\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}",
    "zephyr": "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\\n' + message['content'] + eos_token }}\n"
              "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
    "vicuna": "{% set sep = [' ', eos_token] %}{{ 'A chat.' }}{% for m in messages %}{{ sep[loop.index0 % 2] ~ {'user': 'USER', 'assistant': 'ASSISTANT', 'system': 'SYSTEM'}[m.role] ~ ': ' ~ m.content }}{% endfor %}",
    "alpaca": "{% for message in messages %}{% if message['role'] == 'user' %}{{ '### Instruction:\\n' + message['content'].strip() + '\\n\\n' }}{% elif message['role'] == 'assistant' %}{{ '### Response:\\n' + message['content'].strip() + '\\n\\n' }}"
              "{% else %}{{ message['content'].strip() + '\\n\\n' }}{% endif %}{% if loop.last and message['role'] == 'user' and add_generation_prompt %}{{ '### Response:\\n' }}{% endif %}{% endfor %}",
    "deepseek_r1": "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, system_prompt='', is_first_sp=true) %}"
                   "{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.is_first_sp %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.is_first_sp = false %}{%- else %}"
                   "{% set ns.system_prompt = ns.system_prompt + '\\n\\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.system_prompt }}"
                   "{%- for message in messages %}{% set content = message['content'] %}{%- if message['role'] == 'user' %}{{'<|User|>' + content + '<|Assistant|>'}}{%- endif %}"
                   "{%- if message['role'] == 'assistant' %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{ content + '<|end|>' }}{%- endif %}{%- endfor -%}"
                   "{% if add_generation_prompt and not ns.is_tool %}{{ '<think>\\n' }}{% endif %}",
    "thinking_by_argument": LOOP + "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}",
    "thinking_unless_told": "{%- if enable_thinking is not defined -%}\n{%- set enable_thinking = true -%}\n{%- endif -%}\n{{- '/think' if enable_thinking else '/no_think' }}\n" + LOOP + OPEN,
    "tools_absent": "{%- if tools %}\n    {{- '<|im_start|>system\\n# Tools' }}\n    {%- for tool in tools %}\n        {{- '\\n' }}\n        {{- tool | tojson }}\n    {%- endfor %}\n{%- else %}\n"
                    "    {%- if messages[0].role == 'system' %}\n        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n    {%- endif %}\n{%- endif %}\n"
                    "{%- for message in messages %}\n    {%- if (message.role == 'user') or (message.role == 'system' and not loop.first) or (message.role == 'assistant' and not message.tool_calls) %}\n        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n"
                    "    {%- elif message.role == 'assistant' %}\n        {%- for tool_call in message.tool_calls %}{{- tool_call.function.name }}{%- endfor %}\n    {%- endif %}\n{%- endfor %}\n" + OPEN,
    "tools_is_none": "{% if tools is not none and tools %}T{% elif tools is defined and not tools %}N{% else %}U{% endif %}{{ documents is none }}" + LOOP,
    "unknown_filter_for_tools": "{% if tools %}{{ tools | nice(1) }}{{ tools.x.y() }}{% endif %}" + LOOP + OPEN,
    "llama32": "{{- bos_token }}\n{%- if not date_string is defined %}\n    {%- if strftime_now is defined %}\n        {%- set date_string = strftime_now('%d %b %Y') %}\n    {%- else %}\n        {%- set date_string = '26 Jul 2024' %}\n    {%- endif %}\n{%- endif %}\n"
               "{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content']|trim %}\n    {%- set messages = messages[1:] %}\n{%- else %}\n    {%- set system_message = '' %}\n{%- endif %}\n"
               "{{- 'Today Date: ' + date_string + '\\n\\n' }}\n{{- system_message }}\n{%- for message in messages %}\n    {{- message['role'] + '\\n\\n' + message['content'] | trim }}\n{%- endfor %}\n",
    "macros": "{% macro turn(role, content, end='<|im_end|>\\n') %}\n{{ '<|im_start|>' ~ role }}\n{{ content }}{{ end }}\n{%- endmacro %}\n{% for message in messages %}{{ turn(message.role, content=message.content) }}{% endfor %}{{ turn('assistant', '', end='') if add_generation_prompt }}",
    "content_in_parts": "{%- macro text_of(content) -%}{%- if content is string -%}{{ content }}{%- else -%}{%- for part in content -%}{{ part.text }}{%- endfor -%}{%- endif -%}{%- endmacro -%}"
                        "{% for message in messages %}{{ message.role }}: {{ text_of(message.content) }}\n{% endfor %}",
    "previous_and_next": "{% for message in messages %}{% if loop.previtem is defined and loop.previtem.role == message.role %}{{ raise_exception('After ' + message.role + ' comes another role') }}{% endif %}{{ message.content }}{{ '|' if loop.nextitem is defined else '.' }}{{ loop.revindex }}{% endfor %}",
    "last_user_backwards": "{%- set ns = namespace(last=messages|length - 1, found=false) %}{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}{%- if not ns.found and message.role == 'user' and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}"
                           "{%- set ns.found = true %}{%- set ns.last = index %}{%- endif %}{%- endfor %}{{ ns.last }}{% for message in messages %}{% if loop.index0 > ns.last %}!{% endif %}{{ message.content }}{% endfor %}",
    "break_and_continue": "{% for message in messages %}{% if message.role == 'system' %}{% continue %}{% endif %}{% if loop.index > 3 %}{% break %}{% endif %}{{ message.content }}{% else %}nobody{% endfor %}",
    "json": "{% for message in messages %}{{ message | tojson }}\n{{ message.content | tojson(indent=4) }}{{ [1, 2.5, true, none, 'a'] | tojson }}{% endfor %}",
    "items": "{% for message in messages %}{% for key, value in message.items() %}{{ key }}={{ value }};{% endfor %}{{ message.get('name', 'nobody') }}{{ message | items | list | length }}{{ message.keys() | list | join('+') }}{% endfor %}",
    "block_set": "{% set head %}\n  <{{ bos_token }}>\n{% endset %}{{ head | trim }}{% for message in messages %}{{ head }}{{ message.content | replace('e', 'E') }}{{ message.content | length }}{{ message.content | upper if message.content == 'Hi' }}{% endfor %}",
    "strings": "{% for message in messages %}{% set parts = message.content.split('\\n') %}{{ parts | join('\\\\n') }}{{ parts[0][:3] ~ parts[-1][-2:] }}{{ message.content.find('e') }}{{ 'think' in message.content }}{{ message.content.split() | last }}{{ message.content | first }}{% endfor %}",
    "arithmetic": "{% for message in messages %}{{ (loop.index0 * 7 - 3) // 2 }},{{ loop.index0 % 3 }},{{ -loop.index }},{{ loop.index / 2 }},{{ 2 ** loop.index }},{{ loop.index is odd }},{{ loop.index is divisibleby 3 }},{{ 1 < loop.index <= 3 }};{% endfor %}",
    "scopes": "{% set a = 'outer' %}{% for message in messages %}{{ a }}{% set a = message.role %}{{ a }}{% if loop.first %}{% set b = 1 %}{% endif %}{{ b is defined }}{% endfor %}{{ a }}{{ b is defined }}",
    "only_user_and_assistant": "{% for message in messages %}{% if message.role not in ['user', 'assistant'] %}{{ raise_exception('Only user and assistant roles are supported, not ' ~ message.role) }}{% endif %}{{ message.role[0] ~ message.content }}{% endfor %}",
    "needs_system": "{% if messages[0].role != 'system' %}{{ raise_exception('A system message comes first') }}{% endif %}{{ messages[0].content }}{{ messages[1].content }}",
    "undefined_things": "{{ nothing }}{{ messages[99] is defined }}{{ messages[0].name is defined }}{{ messages[0].name or 'anon' }}{% for x in nothing %}x{% endfor %}{{ nothing | default('d') }}{{ (nothing | length) + 1 }}{{ messages[0]['tool_calls'] is not none }}",
    "undefined_attribute": "{% for message in messages %}{{ message.content }}{% endfor %}{% if messages | length > 2 %}{{ messages[0].function.name }}{% endif %}",
    "escapes": "{{ 'a\\tb\\\\n\\x41\\u00e9\\'' ~ \"\\\"q\\\"\" }}{{ '{{ no }}' }}{# {{ no }} #}" + LOOP,
}
