#include "kernelwright/service/dashboard_files.h"

namespace kw::front {

const char* const kDashboardPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Kernelwright service</title>
<link rel="stylesheet" href="dashboard.css">
<script src="dashboard.js" defer></script>
</head>
<body>
<header>
<p class="brand">Kernelwright</p>
<h1>Service</h1>
<p id="status" role="status">Connecting.</p>
<nav aria-label="Sections"><a href="#find">Search</a><a href="#live">Verdicts</a><a href="#failures">Outcomes</a><a href="#tenants">Tenants</a><a href="#workers" id="to-workers">Workers</a></nav>
</header>
<main>
<noscript><section><p>This page needs its script. <code>kernelwright queue</code> shows the queue too.</p></section></noscript>
<section id="login" aria-labelledby="login-title" hidden>
<h2 id="login-title">Token</h2>
<p id="login-why" class="note">This server wants a token with the scope "read". It stays in this tab.</p>
<form id="login-form"><label>Token<input id="token" type="password" autocomplete="off" spellcheck="false"></label><button>Show</button></form>
</section>
<div id="data" hidden>
<div class="cards facts">
<div class="card"><p class="soft">Waiting</p><p class="big" id="waiting"></p></div>
<div class="card"><p class="soft">At workers</p><p class="big" id="leased"></p></div>
<div class="card"><p class="soft">Ended a second</p><p class="big" id="pace"></p></div>
<div class="card"><p class="soft">Ended in 5 minutes</p><p class="big" id="ended"></p></div>
</div>
<section id="find" aria-labelledby="find-title">
<h2 id="find-title">Search</h2>
<form id="search-form" role="search"><label>Id of a task, or name of a group<input id="search" autocomplete="off" spellcheck="false" maxlength="200"></label><button>Find</button></form>
<p id="find-status" role="status" class="note"></p>
</section>
<section id="card" aria-labelledby="card-title" tabindex="-1" hidden>
<div class="head"><h2 id="card-title"></h2><button id="card-close" type="button">Close</button></div>
<div id="card-body"></div>
</section>
<section aria-labelledby="pace-title">
<h2 id="pace-title">Throughput</h2>
<figure><figcaption id="pace-caption"></figcaption>
<svg id="bars" class="bars" viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-labelledby="pace-caption"></svg>
<div class="ends note"><span>5 minutes ago</span><span>now</span></div></figure>
</section>
<section id="live" aria-labelledby="live-title">
<div class="head"><h2 id="live-title">Verdicts</h2><button id="pause" type="button" aria-pressed="false">Pause</button></div>
<p id="live-note" class="note"></p>
<div class="scroll live" tabindex="0" role="region" aria-labelledby="live-title"><table>
<thead><tr><th scope="col">Task</th><th scope="col">Ended</th><th scope="col">Outcome</th><th scope="col" class="number">Speedup</th><th scope="col">Problem</th><th scope="col">Candidate</th><th scope="col">Language</th><th scope="col">Worker</th><th scope="col">Group</th></tr></thead>
<tbody id="rows"></tbody></table></div>
</section>
<div class="pair">
<section id="failures" aria-labelledby="failures-title"><h2 id="failures-title">Outcomes</h2>
<p class="note">Since the server started.</p>
<div class="scroll" tabindex="0" role="region" aria-labelledby="failures-title"><table><thead><tr><th scope="col">Outcome</th><th scope="col" class="number">Tasks</th><th scope="col" class="number">Share</th></tr></thead><tbody id="outcome-rows"></tbody></table></div></section>
<section id="tenants" aria-labelledby="tenants-title"><h2 id="tenants-title">Tenants</h2>
<p id="tenants-note" class="note"></p>
<div class="scroll" tabindex="0" role="region" aria-labelledby="tenants-title"><table><thead><tr><th scope="col">Tenant</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">At workers</th><th scope="col" class="number">Judged</th><th scope="col" class="number">Share</th></tr></thead><tbody id="tenant-rows"></tbody></table></div></section>
<section id="workers" aria-labelledby="workers-title"><h2 id="workers-title">Workers</h2>
<p id="workers-note" class="note"></p>
<div class="scroll" tabindex="0" role="region" aria-labelledby="workers-title"><table><thead><tr><th scope="col">Worker</th><th scope="col" class="number">Has</th><th scope="col" class="number">Answers</th><th scope="col">Heard</th></tr></thead><tbody id="worker-rows"></tbody></table></div></section>
</div>
</div>
</main>
</body>
</html>
)html";

}  // namespace kw::front
