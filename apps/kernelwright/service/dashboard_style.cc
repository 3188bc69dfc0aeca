#include "kernelwright/service/dashboard_files.h"

namespace kw::front {

const char* const kDashboardStyle = R"(
[hidden]{display:none!important}
form{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end}
label{display:block;flex:1 1 16rem;color:var(--soft);font-size:.9rem}
input{display:block;width:100%;margin-top:.2rem}
input,button{font:inherit;min-height:2.75rem;padding:.4rem .8rem;color:var(--text);background:var(--code);border:1px solid var(--soft);border-radius:6px}
button{cursor:pointer}
input:focus-visible,button:focus-visible,section:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.head{display:flex;flex-wrap:wrap;gap:.2rem 1rem;justify-content:space-between;align-items:center}
.facts{grid-template-columns:repeat(auto-fit,minmax(min(100%,9rem),1fr))}
.facts .card{border-top-color:var(--c0)}
.facts p{margin:0}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1rem}
.pair section{margin:0;min-width:0}
.pair{margin-bottom:1rem}
.live{max-height:32rem;overflow-y:auto}
.ends{display:flex;justify-content:space-between}
svg.bars{display:block;width:100%;height:7rem;border-bottom:1px solid var(--soft)}
.number{text-align:right}
)";

}  // namespace kw::front
