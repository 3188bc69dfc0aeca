// The page's style sheet. Colours have a contrast of 4.5 to 1 for text and 3 to 1 for lines, light
// and dark.
#include "report/page_style.h"

namespace kw::report {

const char* const kPageStyle = R"(
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--text:#1b2330;--soft:#566173;--rule:#d9dee6;--link:#0b5fb0;--code:#f1f3f6;
--c0:#0b5fb0;--c1:#c24a00;--c2:#00785a;--c3:#8e3a9d;--c4:#8a6400;--c5:#4a5568;
--s0:#6b7280;--s1:#a3341f;--s2:#c2570c;--s3:#8f6000;--s4:#6a5cab;--s5:#0b7a55}
@media (prefers-color-scheme:dark){:root{--bg:#10141b;--card:#181e28;--text:#e4e9f1;--soft:#a3aebf;--rule:#303a49;--link:#79b8ff;--code:#11161e;
--c0:#6cb6ff;--c1:#ff9b5e;--c2:#4fd1a5;--c3:#d79bea;--c4:#e3b341;--c5:#a9b4c2;
--s0:#8b95a5;--s1:#f08a74;--s2:#f0a05a;--s3:#e0bb4f;--s4:#b3a8ec;--s5:#4fd1a5}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--bg);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
header,main{max-width:72rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.5rem}
.brand{margin:0;color:var(--soft);font-size:.9rem}
h1{margin:.1rem 0 .6rem;font-size:1.7rem;line-height:1.2}
h2{margin:0 0 .6rem;font-size:1.25rem}
h3{margin:1.2rem 0 .4rem;font-size:1.05rem}
p{margin:.4rem 0;max-width:46rem}
a{color:var(--link)}
nav{display:flex;flex-wrap:wrap;gap:.1rem 1rem;margin:.2rem 0 1rem}
nav a{padding:.3rem 0}
section{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:1rem;margin:0 0 1rem}
.note,.soft{color:var(--soft);font-size:.9rem}
.warning{border-left:4px solid var(--c1);padding-left:.6rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));gap:1rem;margin:.6rem 0 1rem}
.card{border:1px solid var(--rule);border-top:4px solid;border-radius:8px;padding:.7rem .9rem}
.card h3{margin:0 0 .4rem;color:var(--text)}
.card dl{display:grid;grid-template-columns:repeat(3,1fr);gap:.2rem .8rem;margin:0}
.card dt{color:var(--soft);font-size:.85rem}
.card dd{margin:0}
.card div{min-width:0}
.big{display:block;font-size:1.45rem;font-weight:650;line-height:1.2;color:var(--text)}
.range{display:block;color:var(--soft);font-size:.82rem}
.card.facts dl{grid-template-columns:repeat(auto-fit,minmax(min(100%,8rem),1fr))}
.k0{border-top-color:var(--c0)}.k1{border-top-color:var(--c1)}.k2{border-top-color:var(--c2)}.k3{border-top-color:var(--c3)}.k4{border-top-color:var(--c4)}.k5{border-top-color:var(--c5)}
.scroll{overflow-x:auto;max-width:100%;-webkit-overflow-scrolling:touch}
.scroll:focus-visible{outline:2px solid var(--link)}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}
caption{text-align:left;color:var(--soft);font-size:.9rem;padding-bottom:.3rem}
th,td{padding:.32rem .8rem .32rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
td{min-width:5.5rem}
thead th{color:var(--soft);font-weight:600;white-space:nowrap}
tbody th{font-weight:500}
th[scope=row]{max-width:16rem;overflow-wrap:anywhere;min-width:7rem}
.win{font-weight:650;color:var(--c2)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20.5rem),1fr));gap:1.2rem}
figure{margin:0;min-width:0}
figcaption{font-weight:600}
svg.chart{display:block;width:100%;max-width:34rem;height:auto}
svg text{fill:var(--soft);font:11.5px system-ui,sans-serif}
svg .label{fill:var(--text)}
.grid{stroke:var(--rule)}.axis{stroke:var(--soft)}
.line{fill:none;stroke-width:2.2;stroke-linejoin:round}.thin{stroke-width:1.2;stroke-dasharray:2 3}.dashed{stroke-dasharray:7 4}
.line.c0{stroke:var(--c0)}.line.c1{stroke:var(--c1)}.line.c2{stroke:var(--c2)}.line.c3{stroke:var(--c3)}.line.c4{stroke:var(--c4)}.line.c5{stroke:var(--c5)}
.dot.c0{fill:var(--c0)}.dot.c1{fill:var(--c1)}.dot.c2{fill:var(--c2)}.dot.c3{fill:var(--c3)}.dot.c4{fill:var(--c4)}.dot.c5{fill:var(--c5)}
rect.c0{fill:var(--c0)}
rect.s0{fill:var(--s0)}rect.s1{fill:var(--s1)}rect.s2{fill:var(--s2)}rect.s3{fill:var(--s3)}rect.s4{fill:var(--s4)}rect.s5{fill:var(--s5)}
.key.s0,.strip .s0{background:var(--s0)}.key.s1,.strip .s1{background:var(--s1)}.key.s2,.strip .s2{background:var(--s2)}.key.s3,.strip .s3{background:var(--s3)}.key.s4,.strip .s4{background:var(--s4)}.key.s5,.strip .s5{background:var(--s5)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;margin:.3rem 0;padding:0;font-size:.88rem}
.legend li{display:flex;align-items:center;gap:.4rem}
.key{display:inline-block;width:.8rem;height:.8rem;border-radius:2px}
.strip{display:inline-flex;flex-wrap:wrap;gap:2px;vertical-align:middle}
.strip span{width:.55rem;height:.8rem;border-radius:2px}
.badge{display:inline-block;font-size:.85rem;font-weight:600}
.b0{color:var(--s0)}.b1{color:var(--s1)}.b2{color:var(--s2)}.b3{color:var(--s3)}.b4{color:var(--s4)}.b5{color:var(--s5)}
details{margin:.25rem 0}
summary{cursor:pointer;padding:.25rem 0}
summary:focus-visible,a:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.tree{list-style:none;margin:.2rem 0 .6rem;padding:0}
.tree li{border-left:3px solid var(--rule);padding-left:.6rem;margin-left:0}
.tree .d1{margin-left:.9rem}.tree .d2{margin-left:1.8rem}.tree .d3{margin-left:2.7rem}.tree .d4{margin-left:3.4rem}
.tree li.best{border-left-color:var(--s5)}
.problem{border-top:1px solid var(--rule)}
.problem>summary{display:flex;flex-wrap:wrap;gap:.1rem .8rem;align-items:center}
.problem>summary::before{content:"\25b8";color:var(--soft)}
.problem[open]>summary::before{content:"\25be"}
pre{margin:.3rem 0 .6rem;padding:.6rem .8rem;background:var(--code);border:1px solid var(--rule);border-radius:6px;overflow:auto;max-height:32rem;font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;overflow-wrap:normal;tab-size:4}
.said{white-space:pre-wrap;overflow-wrap:anywhere}
@media (max-width:34rem){body{font-size:15px}section{padding:.8rem}header,main{padding:0 .6rem}.card dl{grid-template-columns:1fr 1fr}}
@media print{section{break-inside:auto;border:0}nav{display:none}}
)";

}  // namespace kw::report
