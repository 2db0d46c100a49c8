//! How a page looks: light and dark, on paper and on a phone.

/// The style sheet. The colours of the pictures can be told apart by those who see few colours, and damage is hatched.
pub(super) const STYLE: &str = "
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#17202b;--dim:#5b6675;--line:#dde2e9;--live:#0b62b0;
--dead:#a9cbe8;--damaged:#c4390f;--foreign:#8a5fb0;--other:#e4e7ec;--hatch:#fff;--good:#11703c;--good-bg:#e5f5ea;
--odd:#7d5600;--odd-bg:#fdf3d7;--bad:#a92b07;--bad-bg:#fdeae3;--code:#eef1f5}
@media (prefers-color-scheme:dark){:root{--bg:#10151c;--card:#19212b;--ink:#e7ecf2;--dim:#9aa7b7;--line:#2d3947;
--live:#5aa9ef;--dead:#2b5175;--damaged:#ff7b4d;--foreign:#bd93e0;--other:#2a333f;--hatch:#19212b;--good:#7ad39b;
--good-bg:#15301f;--odd:#edc45c;--odd-bg:#342a10;--bad:#ff9b77;--bad-bg:#3c1d12;--code:#232d39}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',
sans-serif}
header,main,footer{max-width:64rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem}
.over{margin:0;color:var(--dim);font-size:.9rem}
h1{margin:0 0 1rem;font-size:1.7rem;line-height:1.25;overflow-wrap:anywhere}
h2{margin:0;font-size:1.25rem;line-height:1.3}
h3{margin:2rem 0 .5rem;font-size:1rem}
.dim,.note,figcaption{color:var(--dim)}
.note,figcaption{font-size:.875rem;margin:.4rem 0}
.verdict{border-radius:.6rem;padding:.8rem 1rem;border-left:.35rem solid}
.verdict p{margin:.1rem 0}.verdict p+p{color:var(--ink)}
.sign{display:inline-block;width:1.4em;font-weight:700}
.none{color:var(--dim)}.badge.none,.verdict.none{background:var(--code)}.good{color:var(--good)}.odd{color:var(--odd)}.bad{color:var(--bad)}
.verdict.good,.badge.good{background:var(--good-bg)}.verdict.odd,.badge.odd{background:var(--odd-bg)}
.verdict.bad,.badge.bad{background:var(--bad-bg)}
.next{margin-top:1rem}.next h2{font-size:1rem}.next ol{margin:.4rem 0;padding-left:1.4rem}.next li{margin:.3rem 0}
code{font:.875em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;background:var(--code);
border-radius:.25rem;padding:.1em .35em;overflow-wrap:anywhere;-webkit-box-decoration-break:clone;box-decoration-break:clone}
nav{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:1rem}
nav a{text-decoration:none;border:1px solid var(--line);background:var(--card);border-radius:2rem;padding:.2rem .8rem}
nav a:hover,nav a:focus-visible{border-color:currentColor}
.journal{background:var(--card);border:1px solid var(--line);border-radius:.8rem;padding:1.25rem;margin:1.5rem 0}
.title{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline}
.badge{border-radius:2rem;padding:.05rem .7rem;font-size:.875rem;font-weight:600}
.path{margin:.1rem 0 1rem;color:var(--dim);font-size:.875rem;overflow-wrap:anywhere}
dl.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:1px;margin:0;background:var(--line);
border:1px solid var(--line);border-radius:.6rem;overflow:hidden}
.cards div{background:var(--card);padding:.7rem .9rem}
.cards dt{color:var(--dim);font-size:.8125rem}
.cards dd{margin:0;font-size:1.35rem;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.cards .sub{display:block;font-size:.8125rem;font-weight:400;color:var(--dim)}
.cards .hot{color:var(--bad)}
figure{margin:0}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--dim);font-size:13px;font-family:inherit}
.live{fill:var(--live)}.dead{fill:var(--dead)}.damaged{fill:var(--damaged)}.foreign{fill:var(--foreign)}
.other{fill:var(--other)}.hatch{stroke:var(--hatch);stroke-width:1.6;fill:none}.mark{fill:var(--damaged)}
.hatch,.gap{vector-effect:non-scaling-stroke}.map{height:5.25rem}
.ends{display:flex;justify-content:space-between;margin:.3rem 0;font-size:.8125rem;color:var(--dim)}
.axis{stroke:var(--line);stroke-width:1}.gap{stroke:var(--dim);stroke-width:1.5;stroke-dasharray:2 3}
ul.key{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.3rem;padding:0;margin:.6rem 0 0;font-size:.875rem}
.key li{display:flex;align-items:center;gap:.45rem}.key svg{width:1rem;height:1rem;flex:none}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--dim);padding:.2rem 0 .4rem}
th,td{text-align:left;padding:.35rem .7rem .35rem 0;border-top:1px solid var(--line);vertical-align:top}
thead th{border-top:0;color:var(--dim);font-weight:600;white-space:nowrap}
tbody th{font-weight:400}
.n{text-align:right;white-space:nowrap}
.id{overflow-wrap:anywhere;min-width:9rem}
.bar{min-width:6rem;width:32%;vertical-align:middle}.bar svg{height:.9rem}
.what{min-width:12rem;overflow-wrap:anywhere}
details{margin-top:.6rem}
summary{cursor:pointer;color:var(--dim);font-size:.875rem}
ol.places{list-style:none;margin:.5rem 0 0;padding:0}
.places>li{border-top:1px solid var(--line);padding:.7rem 0}
.places p{margin:.15rem 0;overflow-wrap:anywhere}
.places .class{font-weight:700}
footer{color:var(--dim);font-size:.8125rem;padding-bottom:2rem}
@media (max-width:40rem){header{padding-top:1.2rem}header,main,footer{padding-left:.8rem;padding-right:.8rem}
.journal{padding:.9rem}h1{font-size:1.35rem}svg text{font-size:22px}.bar{display:none}}
@media print{:root{--bg:#fff;--card:#fff}body{font-size:11pt}.journal{border:0;padding:0}nav{display:none}
.card,figure,tr,.places>li{break-inside:avoid}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
";
